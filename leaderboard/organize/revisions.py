"""Corrections: a mended solution after releases is a new version of the holdout.

The ledger carries on. Rows are shared between the versions and what teams learned from the old
labels counts, so questions, answers and budgets stay spent; only noise, commitments and each team's
levels begin anew. docs/decisions/0012-corrections.md has the argument.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import (
    Competition,
    Halt,
    Holdout,
    HoldoutState,
    LedgerNote,
    NoteKind,
    Rescore,
    Selection,
    Standing,
    Status,
    Submission,
    TeamState,
    User,
)
from leaderboard.pipeline.queue import wake_sweeper
from leaderboard.pipeline.release import ledger_head, parameters_hash, team_head
from scoring.chain import document_hash
from scoring.mechanisms import books
from scoring.mechanisms.base import HoldoutState as LedgerHead

REASON_LENGTH = 500


def correct_solution(
    competition: Competition,
    file: File[bytes],
    *,
    by: User | None,
    reason: str,
    rescore: str = Rescore.BEST,
) -> Holdout:
    """Puts a mended solution in force and queues again what `rescore` says.

    The plain labels are in memory for the time of this call only. `reason` is public. Raises
    SolutionError (the file is wrong), ParameterError (it doesn't fit the metric or the mechanism),
    Refused (nothing was released yet, the finals have begun, the ledger is being restored).
    """
    reason = _checked_reason(reason)
    if rescore not in Rescore.values:
        raise Refused.invalid("rescore", "Choose what is scored again.")
    check_may_correct(competition)
    checked = organize.check_solution(competition, file)
    with transaction.atomic(durable=True):
        check_may_correct(lock.lock(competition))
        before = competition.holdouts.select_related("state").get(retired_at__isnull=True)
        again = list(to_score_again(competition, rescore).values_list("pk", flat=True))
        facts = {"reason": reason, "rescore": rescore, "rescored": len(again)}
        holdout = organize.create_version(competition, checked, by, **facts)
        _carry_on(competition, before, holdout)
        _queue(again)
        transaction.on_commit(wake_sweeper, robust=True)
    return holdout


def to_score_again(competition: Competition, rescore: str) -> QuerySet[Submission]:
    """The released submissions that a choice would score again, in the order of acceptance; not
    those whose files were lost with a database."""
    released = Submission.objects.filter(team__competition=competition, status=Status.RELEASED)
    released = released.exclude(file="").order_by("created_at", "pk")
    if rescore == Rescore.ALL:
        return released
    if rescore == Rescore.BEST:
        best = Standing.objects.filter(competition=competition).values("best__submission")
        chosen = Selection.objects.filter(team__competition=competition).values("submission")
        return released.filter(Q(pk__in=best) | Q(pk__in=chosen))
    return released.none()


def waiting_again(competition: Competition) -> int:
    """How many submissions are still to be scored again."""
    unfinished = Submission.objects.filter(
        team__competition=competition, status__in=(Status.QUEUED, Status.SCORING)
    )
    return unfinished.filter(release__isnull=False).count()


def _checked_reason(reason: str) -> str:
    reason = " ".join(reason.split())
    if not reason:
        raise Refused.invalid("reason", "Say what was wrong: everyone reads it on the board.")
    if len(reason) > REASON_LENGTH:
        raise Refused.invalid("reason", f"Use at most {REASON_LENGTH} characters.")
    return reason


def check_may_correct(competition: Competition) -> None:
    """Raises Refused, saying why the solution can't be corrected now."""
    if not organize.is_frozen(competition):
        raise Refused(
            "nothing_released",
            "Nothing was released yet",
            "No answer has left this solution, so it can be replaced freely on the page "
            "“Solution”; that is no correction.",
        )
    if competition.finals_started_at is not None:
        raise Refused(
            "finals_started",
            "The final scoring has begun",
            "Exact scores are measured on the solution as it is, and no submission may follow "
            "them. It can't be corrected any more.",
        )
    halted = HoldoutState.objects.filter(
        holdout__competition=competition, holdout__retired_at__isnull=True
    )
    if halted.filter(halted_for=Halt.REWOUND).exists():
        raise Refused.paused()


def _carry_on(competition: Competition, before: Holdout, holdout: Holdout) -> None:
    """The new version's head and shares, and the ledger's entry that says so."""
    old = before.state
    head = books.carry_on(ledger_head(old))
    note = _note(competition, holdout, old, head)
    HoldoutState.objects.create(
        holdout=holdout,
        releases=note.number,
        head_hash=note.hash,
        guarded=old.guarded,
        ledger=old.ledger or before.solution_commitment,
        **asdict(head),
    )
    carried = [
        TeamState(
            holdout=holdout, team_id=each.team_id, **asdict(books.carry_team(team_head(each)))
        )
        for each in TeamState.objects.filter(holdout=before)
    ]
    TeamState.objects.bulk_create(carried)


def _note(
    competition: Competition, holdout: Holdout, old: HoldoutState, head: LedgerHead
) -> LedgerNote:
    now = timezone.now()
    document: dict[str, Any] = {
        "number": old.releases + 1,
        "kind": NoteKind.CORRECTION.value,
        "version": holdout.version,
        "reason": holdout.reason,
        "rescore": holdout.rescore,
        **asdict(head),
        "parameters_hash": parameters_hash(competition, holdout),
        "previous_hash": old.head_hash,
        "created_at": now.isoformat(timespec="seconds"),
    }
    return LedgerNote.objects.create(
        holdout=holdout,
        number=document["number"],
        kind=NoteKind.CORRECTION,
        document=document,
        previous_hash=old.head_hash,
        hash=document_hash(document),
        created_at=now,
    )


def _queue(submissions: list[int]) -> None:
    """Back to the queue, each with the answer that it has until the new one is there."""
    chosen = Submission.objects.filter(pk__in=submissions, status=Status.RELEASED)
    chosen.update(status=Status.QUEUED, enqueued_at=None, finished_at=None, attempts=0)
