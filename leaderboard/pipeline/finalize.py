"""The end: nobody submits any more, exact scores are measured once, the organizer reveals them.

Here, and nowhere else, an exact score of the hidden rows is stored: no question can follow that it
could answer. When all are there, a worker compares the entries with each other, row by row, and
stores places; what it is killed in the middle of, another begins anew.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from leaderboard import vault
from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.models import (
    Competition,
    EventKind,
    FinalScore,
    FinalTests,
    Holdout,
    Loss,
    Phase,
    Round,
    Status,
    Submission,
    Team,
    User,
)
from leaderboard.notify import events
from leaderboard.participate.selection import entered, over_limit
from leaderboard.pipeline import heartbeat
from leaderboard.pipeline.final_places import store_places
from leaderboard.pipeline.final_tests import Tested, compare_entries
from leaderboard.pipeline.queue import enqueue_finals, enqueue_places, wake_sweeper
from leaderboard.vault import custom_metrics
from scoring.predictions import Predictions

# A stored file, read.
Read = Callable[[Submission], Predictions]

NAMED = 10
FAILURE = "Final score: "
FAILURE_LENGTH = 200


@dataclass(frozen=True)
class Unfinished:
    """What stands between a competition and its finals.

    That is uploads that began in time and may still arrive until a moment, unscored and failed
    submissions, and what is missing since a backup was restored.
    """

    uploads_until: datetime | None
    waiting: int
    failed: tuple[Submission, ...]
    lost: tuple[Loss, ...]


def unfinished(round: Round) -> Unfinished:
    """Return the submissions without an answer yet, and those without one through our fault.

    Submissions of all rounds on the same rows count: exact scores come after the last answer.
    """
    submissions = Submission.objects.filter(round__ledger=round.ledger)
    failed = submissions.filter(status=Status.FAILED).select_related("team")
    return Unfinished(
        uploads_until=_uploads_until(_rounds_sharing(round)),
        waiting=submissions.filter(status__in=(Status.QUEUED, Status.SCORING)).count(),
        failed=tuple(failed.order_by("created_at")),
        lost=tuple(losses(round.competition).select_related("team")),
    )


def losses(competition: Competition) -> QuerySet[Loss]:
    """Return what is missing since a backup was restored, as long as nobody has accepted that."""
    return Loss.objects.filter(competition=competition, accepted_at__isnull=True)


def close_early(round: Round, *, by: User | None = None) -> None:
    """Close an open competition now, for good; the announced end is kept and shown.

    Raises Refused, having changed nothing, unless it is open. What was accepted before is scored.
    """
    with transaction.atomic(durable=True):
        locked = _lock(round)
        check_right(by, locked.competition, Right.JUDGE)
        now = timezone.now()
        if locked.phase(now) is not Phase.OPEN or locked.finals_started_at is not None:
            raise Refused("not_open")
        # Also of a round without an end: what is announced marks it as closed for good.
        moments = {"announced_closes_at": locked.closes_at or now, "closes_at": now}
        _mark(locked, EventKind.CLOSED, by, **moments)
    round.refresh_from_db()


def start_finals(
    round: Round,
    *,
    accept_failed: bool = False,
    accept_lost: bool = False,
    by: User | None = None,
) -> None:
    """End submitting and selecting for good; the sweeper then asks workers for exact scores.

    On rows that several rounds share this happens once, in the last of them. Raises Refused, having
    changed nothing, unless all rounds on these rows are closed, everything that was
    submitted has an answer (`accept_failed`: or failed), nothing is missing since a backup was
    restored (`accept_lost`: or that is known), and there is something to score.
    """
    with transaction.atomic(durable=True):
        locked = _lock(round)
        check_right(by, locked.competition, Right.JUDGE)
        if locked.finals_started_at is None:
            _check_may_start(locked, accept_failed=accept_failed, accept_lost=accept_lost)
            losses(locked.competition).update(accepted_at=timezone.now())
            _mark(locked, EventKind.FINALS_STARTED, by, finals_started_at=timezone.now())
            transaction.on_commit(wake_sweeper, robust=True)
    round.refresh_from_db()


def ask_for_scores(round: Round) -> None:
    """Ask for the final scores that are missing; where none is, for the places."""
    missing = list(_unscored(round).order_by("pk").only("is_long"))
    if missing:
        enqueue_finals(round.pk, missing)
    else:
        enqueue_places(round.pk)


def is_wanted(submission: Submission) -> bool:
    """Return whether the finals wait for the score of this submission."""
    round = _round_of_finals(submission)
    return round is not None and _unscored(round).filter(pk=submission.pk).exists()


def measure_final(submission: Submission, predictions: Predictions) -> None:
    """Measure an entered submission exactly and write its final scores; a retry changes nothing.

    A submission of an earlier round on the same rows is scored on the boards of the round whose
    finals these are. The watermark notes it first: no database from before the finals may answer
    any more. Raises StateError where the holdout was sealed for other rows or columns,
    WatermarkAway.
    """
    finals = _round_of_finals(submission)
    if finals is None:
        return
    holdout = Holdout.objects.active().select_related("ledger").get(ledger=finals.ledger)
    watermark.end(holdout.ledger.uid)
    with custom_metrics.noting() as notes:
        means = {
            board: vault.measure_final(holdout, board, predictions) for board in finals.boards.all()
        }
    with transaction.atomic(durable=True):
        for board, mean in means.items():
            FinalScore.objects.get_or_create(
                submission=submission,
                board=board,
                defaults={
                    "team": submission.team,
                    "holdout": holdout,
                    "chosen": hasattr(submission, "selection"),
                    "units": mean.units,
                    "rows": mean.rows,
                    "resolution": mean.resolution,
                },
            )
        failed = Submission.objects.filter(pk=submission.pk, failure__startswith=FAILURE)
        failed.update(failure="")
        if notes:
            note_failure(submission, notes[0])
    if not _unscored(finals).exists():
        enqueue_places(finals.pk)


def place_finals(round_id: int, read: Read) -> bool:
    """Compare all entries of a round, and store their places, once; return whether that was now.

    Nothing is done where a final score is missing or another worker is at it. Of the losses of
    rows nothing is stored. Raises what `read` does, and VaultClosed.
    """
    is_free = Q(places_claimed_at__isnull=True) | Q(places_claimed_at__lt=heartbeat.last_sign())
    waiting = Round.objects.filter(
        pk=round_id, finals_started_at__isnull=False, finals_scored_at__isnull=True
    )
    if waiting.filter(is_free).update(places_claimed_at=timezone.now()) != 1:
        return False
    held = waiting.filter(places_claimed_at__isnull=False)
    try:
        with heartbeat.beating(held, "places_claimed_at"):
            round = waiting.select_related("ledger").get()
            if _unscored(round).exists():
                return False
            _uncounted(round).delete()
            holdout = Holdout.objects.active().select_related("ledger").get(ledger=round.ledger)
            boards, contest = list(round.boards.all()), partial(vault.contest, holdout)
            return _note_all_scored(round, compare_entries(boards, holdout, contest, read))
    finally:
        with suppress(DatabaseError):
            waiting.update(places_claimed_at=None)


def count_anew(round: Round) -> None:
    """Let workers find the places again, now that other submissions count than before.

    Call it in the transaction that changed what counts. It does nothing before the finals have
    started. Raises Refused where they are revealed, or nothing would be left to count.
    """
    locked = Round.objects.select_for_update(no_key=True).get(pk=round.pk)
    if locked.revealed_at is not None:
        raise Refused("final_board_revealed")
    if locked.finals_started_at is None:
        return
    if not entered(locked).exists():
        raise Refused("nothing_to_score")
    # A worker at work on the places before finds the round's row locked, and then other scores.
    moments = ("finals_scored_at", "finals_enqueued_at", "places_claimed_at")
    Round.objects.filter(pk=locked.pk).update(**dict.fromkeys(moments))
    FinalTests.objects.filter(board__round=locked).delete()
    _uncounted(locked).delete()
    transaction.on_commit(wake_sweeper, robust=True)


def note_failure(submission: Submission, failure: str) -> None:
    """Keep what went wrong, by type and place, for the organizer."""
    text = f"{FAILURE}{failure}"[:FAILURE_LENGTH]
    Submission.objects.filter(pk=submission.pk).update(failure=text)


def reveal(round: Round, *, by: User | None = None) -> None:
    """Show the final board to everybody. There is no way back.

    Raises Refused as long as a final score is missing.
    """
    with transaction.atomic():
        competition = Competition.objects.select_for_update(no_key=True).get(
            pk=round.competition_id
        )
        check_right(by, competition, Right.JUDGE)
        locked = Round.objects.get(pk=round.pk)
        if locked.finals_scored_at is None:
            raise Refused("finals_not_scored")
        if locked.revealed_at is None:
            _mark(locked, EventKind.REVEALED, by, revealed_at=timezone.now())
    round.refresh_from_db()


def _lock(round: Round) -> Round:
    """Lock the round against changes, uploads and selections."""
    lock.lock_teams(lock.lock(round.competition))
    return Round.objects.select_related("competition", "ledger").get(pk=round.pk)


def _mark(round: Round, kind: EventKind, by: User | None, **moments: datetime) -> None:
    """Save moments of the round, and record what they mean."""
    for name, moment in moments.items():
        setattr(round, name, moment)
    round.save(update_fields=list(moments))
    told: dict[str, Any] = {
        name: moment.isoformat(timespec="seconds") for name, moment in moments.items()
    }
    events.record(round.competition, kind, actor=by, subjects={"round": round.number}, **told)


def _unscored(round: Round) -> QuerySet[Submission]:
    """Return the entered submissions that have no final score yet."""
    return entered(round).filter(final_scores__isnull=True)


def _uncounted(round: Round) -> QuerySet[FinalScore]:
    """Return the scores of submissions that don't count any more."""
    scores = FinalScore.objects.filter(board__round=round)
    return scores.exclude(submission__in=entered(round).values("pk"))


def _round_of_finals(submission: Submission) -> Round | None:
    """Return the round whose finals measure the submission now: the last one on its rows."""
    return Round.objects.filter(
        ledger=submission.round.ledger,
        finals_started_at__isnull=False,
        finals_scored_at__isnull=True,
    ).first()


def _rounds_sharing(round: Round) -> list[Round]:
    """Return the rounds on the same rows, this one among them."""
    return list(Round.objects.filter(ledger=round.ledger, competition=round.competition))


def _uploads_until(sharing: Sequence[Round]) -> datetime | None:
    """Return until when uploads that began before the end may arrive; None where that is over."""
    now = timezone.now()
    closed = max((each.closes_at for each in sharing if each.closes_at), default=now)
    until = closed + timedelta(seconds=settings.UPLOAD_SECONDS)
    return until if closed <= now < until else None


def _check_rows_are_closed(round: Round) -> None:
    """Raise Refused unless this is the last round on its rows, and all of them have closed."""
    sharing, now = _rounds_sharing(round), timezone.now()
    if any(each.phase(now) is not Phase.CLOSED for each in sharing):
        raise Refused("not_closed")
    if until := _uploads_until(sharing):
        raise Refused("submissions_waiting", variant="uploads", until=until)
    if round.number < max(each.number for each in sharing):
        raise Refused("not_the_last_round")


def _check_may_start(round: Round, *, accept_failed: bool, accept_lost: bool) -> None:
    _check_rows_are_closed(round)
    if round.paused_for:
        raise Refused("paused", variant=round.paused_for)
    holdout = round.active_holdout
    if holdout is not None and holdout.is_unchecked:
        raise Refused("revision_unchecked")
    found = unfinished(round)
    if found.waiting:
        raise Refused("submissions_waiting", count=found.waiting)
    if found.failed and not accept_failed:
        raise Refused("submissions_failed", names=_names(found.failed))
    if found.lost and not accept_lost:
        raise Refused("restore_unsettled", names=_names(found.lost))
    if too_many := tuple(over_limit(round)):
        raise Refused("selections_over_limit", limit=round.finals_limit, names=_names(too_many))
    if not entered(round).exists():
        raise Refused("nothing_to_score")


def _names(found: Sequence[Submission | Team | Loss]) -> str:
    names = [str(each) for each in found[:NAMED]]
    more = len(found) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _note_all_scored(round: Round, tested: Mapping[int, Tested]) -> bool:
    """Store the final places, with the note that every final score is there, unless they are.

    Nothing is stored where other submissions count by now than those that were compared.
    """
    with transaction.atomic(durable=True):
        list(Round.objects.select_for_update(no_key=True).filter(pk=round.pk))
        compared = {score.pk for each in tested.values() for score in each.order}
        scores = FinalScore.objects.filter(board__round=round, board__in=tested)
        is_same = compared == set(scores.values_list("pk", flat=True))
        if not is_same or _uncounted(round).exists() or _unscored(round).exists():
            return False
        noted = Round.objects.filter(
            pk=round.pk, finals_started_at__isnull=False, finals_scored_at__isnull=True
        ).update(finals_scored_at=timezone.now(), places_claimed_at=None)
        if noted:
            for board in round.boards.all():
                store_places(board, tested.get(board.pk))
    return bool(noted)
