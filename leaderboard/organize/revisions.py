"""Revisions: a repaired solution after releases is a new revision of the holdout.

The ledger carries on. Rows are shared between the revisions and what teams learned from the old
labels counts, so questions, answers and budgets stay spent; only noise, commitments and each team's
levels begin anew. docs/decisions/0012-revisions.md has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.files.base import File
from django.db import transaction
from django.db.models import Q, QuerySet

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.ledger.notes import carry_on
from leaderboard.ledger.pauses import resume
from leaderboard.models import (
    EventKind,
    Holdout,
    Pause,
    Rescore,
    Round,
    Selection,
    Standing,
    Status,
    Submission,
    User,
)
from leaderboard.notify import events
from leaderboard.organize.drafts import is_frozen
from leaderboard.organize.solutions import CheckedSolution, check_solution, create_revision
from leaderboard.pipeline.queue import wake_sweeper
from leaderboard.queries.guarantees import figure, guarantee_after

REASON_LENGTH = 500


def revise_solution(
    round: Round,
    file: File[bytes],
    *,
    by: User | None,
    reason: str,
    rescore: str = Rescore.BEST,
) -> Holdout:
    """Make a repaired solution the active one, and queue again what `rescore` names.

    The plain labels are in memory for the time of this call only. `reason` is public. Raises
    SolutionError (the file is wrong), ParameterError (it doesn't fit the metric or the mechanism),
    Refused (nothing was released yet, the finals have begun, the ledger is being restored).
    """
    reason = " ".join(reason.split())
    if not reason:
        raise Refused("invalid", field="reason", variant="no_reason")
    if len(reason) > REASON_LENGTH:
        raise Refused("invalid", field="reason", variant="reason_long", limit=REASON_LENGTH)
    if rescore not in Rescore.values:
        raise Refused("invalid", field="rescore", variant="rescore_unknown")
    check_right(by, round.competition, Right.EDIT)
    check_may_revise(round)
    checked = _check_repair(round, file)
    with transaction.atomic(durable=True):
        competition = lock.lock(round.competition)
        locked = competition.rounds.select_related("competition", "ledger").get(pk=round.pk)
        check_may_revise(locked)
        ledger = locked.ledger
        assert ledger is not None  # noqa: S101  (it has answered)
        before = ledger.holdouts.active().get()
        again = list(to_score_again(locked, rescore).values_list("pk", flat=True))
        facts = {"reason": reason, "rescore": rescore, "rescored": len(again)}
        holdout = create_revision(ledger, checked, by, **facts)
        note = carry_on(ledger, before, holdout)
        # The rows that were moved are another revision's; a worker compares the new one as well.
        resume(ledger, Pause.MOVED_ROWS)
        # Back to the queue, each with the answer that it has until the new one is there.
        Submission.objects.filter(pk__in=again, status=Status.RELEASED).update(
            status=Status.QUEUED, enqueued_at=None, finished_at=None, attempts=0
        )
        events.record(
            competition,
            EventKind.REVISED,
            actor=by,
            subjects={"round": locked.number, "ledger": ledger.uid},
            version=holdout.version,
            reason=reason,
            rescored=len(again),
        )
        transaction.on_commit(wake_sweeper, robust=True)
    watermark.append_where_writable(ledger.uid, watermark.Head(note.number, note.hash))
    return holdout


@dataclass(frozen=True)
class Change:
    """How many rows of a usage there were and will be."""

    usage: str
    before: int
    after: int


def preview_revision(round: Round, file: File[bytes], *, by: User | None = None) -> list[Change]:
    """Check the file as `revise_solution` would, and keep nothing of it. Raises as that does."""
    check_right(by, round.competition, Right.EDIT)
    check_may_revise(round)
    counts = _check_repair(round, file).solution.counts()
    holdout = Holdout.objects.active().get(ledger=round.ledger_id)
    return [
        Change(usage.capitalize(), getattr(holdout, f"{usage}_rows"), getattr(counts, usage))
        for usage in ("public", "private", "final", "ignored")
    ]


def _check_repair(round: Round, file: File[bytes]) -> CheckedSolution:
    """Check a solution that takes the place of one that has answered. Raises as `check_solution`,
    and Refused where rows would no longer come in groups, or Public rows come or go.
    """
    checked = check_solution(round, file)
    before = round.active_holdout
    if before is not None and before.designs and checked.solution.groups is None:
        raise Refused("invalid", field="solution", variant="groups_dropped")
    # A board's laws read Public scores or don't, for good.
    if before is not None and (before.public_rows > 0) != (checked.solution.counts().public > 0):
        raise Refused("invalid", field="solution", variant="public_rows_changed")
    return checked


def to_score_again(round: Round, rescore: str) -> QuerySet[Submission]:
    """Return the answered submissions that a choice would score again, in the order of acceptance.

    Also those that an earlier revision has queued again and that still wait. Not those whose files
    were lost with a database.
    """
    answered = Submission.objects.filter(
        Q(status=Status.RELEASED) | Q(status__in=(Status.QUEUED, Status.SCORING)),
        round__ledger=round.ledger,
        release__isnull=False,
    )
    answered = answered.exclude(file="").order_by("created_at", "pk")
    if rescore == Rescore.ALL:
        return answered
    if rescore == Rescore.BEST:
        best = Standing.objects.filter(board__round__ledger=round.ledger).values("best__submission")
        selected = Selection.objects.filter(submission__round__ledger=round.ledger)
        return answered.filter(Q(pk__in=best) | Q(pk__in=selected.values("submission")))
    return answered.none()


@dataclass(frozen=True)
class Cost:
    """What a choice of files to score again costs, as each again is a counted question.

    then: the guarantee of the question after them, if the answers tell as much as those so far did;
    empty: none.
    """

    rescore: str
    choice: str
    files: int
    then: str


def forecast(round: Round) -> list[Cost]:
    """Return what each choice of a revision costs."""
    costs = []
    for choice in Rescore:
        again = to_score_again(round, choice)
        then = figure(guarantee_after(round.board, again))
        costs.append(Cost(choice.value, choice.label, again.count(), then))
    return costs


def check_may_revise(round: Round) -> None:
    """Raise Refused, with the reason, where the solution can't be revised now."""
    if not is_frozen(round):
        raise Refused("nothing_released")
    if Round.objects.filter(ledger=round.ledger, finals_started_at__isnull=False).exists():
        raise Refused("finals_started", variant="revision")
    if round.paused_for not in ("", Pause.MOVED_ROWS):
        raise Refused("paused", variant=round.paused_for)
