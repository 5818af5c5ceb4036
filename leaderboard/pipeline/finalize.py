"""The end: nobody submits any more, exact scores are measured once, the organizer reveals them.

Here, and nowhere else, an exact score of the hidden rows is stored: no question can follow that it
could answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from leaderboard import vault
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.models import Competition, FinalScore, Phase, Status, Submission, Team
from leaderboard.participate.selection import entered, over_limit
from leaderboard.pipeline.queue import enqueue_finals, wake_sweeper
from leaderboard.vault import custom_metrics
from scoring.predictions import Predictions

NAMED = 10
FAILURE = "Final score: "
FAILURE_LENGTH = 200


@dataclass(frozen=True)
class Unfinished:
    """What stands between a competition and its finals: files on their way, and failed ones."""

    waiting: int
    failed: tuple[Submission, ...]


def unfinished(competition: Competition) -> Unfinished:
    """The submissions that have no answer yet, and those that got none by our fault."""
    submissions = Submission.objects.filter(team__competition=competition)
    failed = submissions.filter(status=Status.FAILED).select_related("team")
    return Unfinished(
        waiting=submissions.filter(status__in=(Status.QUEUED, Status.SCORING)).count(),
        failed=tuple(failed.order_by("created_at")),
    )


def close_early(competition: Competition) -> None:
    """Closes an open competition now, for good; what it was announced for is kept and shown.

    Raises Refused, having changed nothing, unless it is open. What was accepted before is scored.
    """
    with transaction.atomic(durable=True):
        locked = lock.lock(competition)
        # Uploads hold one of these: who is accepted was accepted before the moment that is written.
        list(Team.objects.select_for_update().filter(competition=locked).order_by("pk"))
        now = timezone.now()
        if locked.phase(now) is not Phase.OPEN or locked.finals_started_at is not None:
            raise Refused(
                "not_open",
                "The competition is not open",
                "Only a competition that is open can be closed before its time.",
            )
        locked.announced_closes_at, locked.closes_at = locked.closes_at, now
        locked.save(update_fields=["announced_closes_at", "closes_at"])
    competition.refresh_from_db()


def start_finals(competition: Competition, *, accept_failed: bool = False) -> None:
    """Ends submitting and choosing for good; the sweeper then asks workers for exact scores.

    Raises Refused, having changed nothing, unless the competition is closed, everything that was
    submitted has an answer (`accept_failed`: or failed), and there is something to score.
    """
    with transaction.atomic(durable=True):
        locked = lock.lock(competition)
        if locked.finals_started_at is None:
            # Uploads, choices and new teams hold one of these: after this none is on its way.
            list(Team.objects.select_for_update().filter(competition=locked).order_by("pk"))
            _check_may_start(locked, accept_failed=accept_failed)
            locked.finals_started_at = timezone.now()
            locked.save(update_fields=["finals_started_at"])
            transaction.on_commit(wake_sweeper, robust=True)
    competition.refresh_from_db()


def ask_for_scores(competition: Competition) -> None:
    """Sends for the final scores that are missing; where none is, notes that all are there."""
    missing = entered(competition).filter(final_score__isnull=True).order_by("pk")
    ids = list(missing.values_list("pk", flat=True))
    if ids:
        enqueue_finals(competition.pk, ids)
    else:
        _note_all_scored(competition)


def is_wanted(submission: Submission) -> bool:
    """Whether the finals have started, and this submission is entered and not measured yet."""
    competition = submission.team.competition
    if competition.finals_started_at is None or competition.finals_scored_at is not None:
        return False
    return entered(competition).filter(pk=submission.pk, final_score__isnull=True).exists()


def measure_final(submission: Submission, predictions: Predictions) -> None:
    """Measures an entered submission exactly and writes its final score; a retry changes nothing.

    The rewind guard is told first: no database of before the finals may answer any more. Raises
    StateError where the holdout was sealed for other rows or columns, GuardAway.
    """
    competition = submission.team.competition
    holdout = competition.holdouts.select_related("state").get(retired_at__isnull=True)
    watermark.end(holdout.ledger_name)
    with custom_metrics.noting() as notes:
        mean = vault.measure_final(holdout, competition, predictions)
    with transaction.atomic(durable=True):
        FinalScore.objects.get_or_create(
            submission=submission,
            defaults={
                "team": submission.team,
                "holdout": holdout,
                "chosen": hasattr(submission, "selection"),
                "units": mean.units,
                "rows": mean.rows,
                "resolution": mean.resolution,
            },
        )
        _forget_failure(submission)
        if notes:
            note_failure(submission, notes[0])
    if not entered(competition).filter(final_score__isnull=True).exists():
        _note_all_scored(competition)


def note_failure(submission: Submission, failure: str) -> None:
    """What went wrong, by type and place, for the organizer."""
    text = f"{FAILURE}{failure}"[:FAILURE_LENGTH]
    Submission.objects.filter(pk=submission.pk).update(failure=text)


def reveal(competition: Competition) -> None:
    """Shows the final board to everybody. There is no way back.

    Raises Refused as long as a final score is missing.
    """
    with transaction.atomic():
        locked = Competition.objects.select_for_update().get(pk=competition.pk)
        if locked.finals_scored_at is None:
            raise Refused(
                "finals_not_scored",
                "The final scores are not complete",
                "Some final scores are missing. They can be revealed once all are there.",
            )
        if locked.revealed_at is None:
            locked.revealed_at = timezone.now()
            locked.save(update_fields=["revealed_at"])
    competition.refresh_from_db()


def _check_may_start(competition: Competition, *, accept_failed: bool) -> None:
    if competition.phase(timezone.now()) is not Phase.CLOSED:
        raise Refused(
            "not_closed",
            "The competition is not closed",
            "The finals start after the competition has closed.",
        )
    if competition.paused_for():
        raise Refused.paused()
    if any(each.is_unchecked for each in competition.holdouts.filter(retired_at__isnull=True)):
        raise Refused(
            "correction_unchecked",
            "The corrected solution is not checked yet",
            "A worker compares its rows with those of the solutions before. Start the finals in a "
            "minute.",
        )
    found = unfinished(competition)
    if found.waiting:
        files = "1 submission is" if found.waiting == 1 else f"{found.waiting} submissions are"
        raise Refused(
            "submissions_waiting",
            "Not everything is scored yet",
            f"{files} still on the way. Start the finals when all have their answers.",
        )
    if found.failed and not accept_failed:
        raise Refused(
            "submissions_failed",
            "Some submissions failed",
            f"{_names(found.failed)} failed on our side. Queue them again, or accept that they "
            "end without an answer.",
        )
    if too_many := tuple(over_limit(competition)):
        raise Refused(
            "too_many_finals",
            "Some teams have chosen too many final entries",
            f"The limit was lowered to {competition.finals_limit} after these had chosen more: "
            f"{_names(too_many)}. Raise it again, or let them choose anew.",
        )
    if not entered(competition).exists():
        raise Refused(
            "nothing_to_score",
            "There is nothing to score",
            "No team has a released score, so there is no final board to make.",
        )


def _names(found: Sequence[Submission | Team]) -> str:
    names = [str(each) for each in found[:NAMED]]
    more = len(found) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _forget_failure(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk, failure__startswith=FAILURE).update(failure="")


def _note_all_scored(competition: Competition) -> None:
    Competition.objects.filter(
        pk=competition.pk, finals_started_at__isnull=False, finals_scored_at__isnull=True
    ).update(finals_scored_at=timezone.now())
