"""Opens the vault for one moment: aligned predictions in, a measurement out."""

from django.db.models import Q
from django.utils import timezone

from leaderboard import vault
from leaderboard.models import Holdout, NoteKind, Submission
from leaderboard.vault import Measured, custom_metrics
from scoring.predictions import Predictions


class RowsMoved(Exception):
    """A correction holds back anew what gave answers before: its scores have been shown."""


def measure(submission: Submission, predictions: Predictions) -> tuple[Holdout, Measured]:
    """Measures predictions on the holdout in force.

    What comes back is held in memory for one step of the mechanism, and can't be printed, pickled,
    logged or queued. Where an operator's own metric failed, the submission's `failure` says where,
    for the organizer. Raises StateError where the holdout was sealed for other rows or columns,
    RowsMoved where a correction must not answer.
    """
    competition = submission.team.competition
    holdout = competition.holdouts.get(retired_at__isnull=True)
    if holdout.is_unchecked:
        check_fits(holdout)
    with custom_metrics.noting() as notes:
        measured = vault.measure(holdout, competition, predictions, submission.claimed_score)
    if custom_metrics.is_own(competition.metric):
        # Written whether it failed or not: nothing that the worker does may depend on labels.
        failure = notes[0][:200] if notes else ""
        Submission.objects.filter(pk=submission.pk).update(failure=failure)
    return holdout, measured


def check_fits(holdout: Holdout) -> None:
    """Notes that a corrected solution holds back no row whose scores are known. Raises RowsMoved.

    Public scores are shown exactly and counted by no ledger, so such rows stay out of the holdout
    for good; intervals on Final rows need rows that were never asked. The web process can't see
    which rows are which: a worker looks.
    """
    versions = Holdout.objects.filter(competition=holdout.competition_id).exclude(pk=holdout.pk)
    written_off = Q(notes__kind=NoteKind.WRITE_OFF)
    for earlier in versions.filter(Q(ledger__isnull=False) | written_off).distinct():
        if moved := vault.count_moved(earlier, holdout):
            raise RowsMoved(
                f"{moved} rows that gave answers in version {earlier.version} are held back anew "
                f"in version {holdout.version}: Public ones became Private or Final, or Private "
                "ones Final."
            )
    Holdout.objects.filter(pk=holdout.pk).update(fits_at=timezone.now())


def measure_again(submission: Submission, holdout: Holdout, predictions: Predictions) -> Measured:
    """The same on any version of the holdout, when its answer is known already."""
    competition = submission.team.competition
    return vault.measure(holdout, competition, predictions, submission.claimed_score)
