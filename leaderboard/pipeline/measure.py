"""Opens the vault for one moment: aligned predictions in, a measurement out."""

from django.utils import timezone

from leaderboard import own_metrics, vault
from leaderboard.models import Competition, Holdout, Submission
from leaderboard.vault import Measured
from scoring.predictions import Predictions


class RowsMoved(Exception):
    """A correction made Private what had been Public: its exact scores have been shown."""


def measure(submission: Submission, predictions: Predictions) -> tuple[Holdout, Measured]:
    """Measures predictions on the holdout in force.

    What comes back is held in memory for one step of the mechanism, and can't be printed, pickled,
    logged or queued. Where an operator's own metric failed, the submission's `failure` says where,
    for the organizer. Raises StateError where the holdout was sealed for other rows or columns,
    RowsMoved where a correction must not answer.
    """
    competition = submission.team.competition
    holdout = competition.holdouts.get(retired_at__isnull=True)
    if holdout.reason and holdout.fits_at is None:
        _check_fits(holdout, competition)
    with own_metrics.noting() as notes:
        measured = vault.measure(holdout, competition, predictions, submission.claimed_score)
    if notes:
        Submission.objects.filter(pk=submission.pk).update(failure=notes[0][:200])
    return holdout, measured


def _check_fits(holdout: Holdout, competition: Competition) -> None:
    """Public scores are shown exactly and counted by no ledger, so such rows stay out of the
    holdout for good. The web process can't see which they are: the first worker looks."""
    answered = competition.holdouts.filter(ledger__isnull=False).exclude(pk=holdout.pk).distinct()
    for earlier in answered:
        if moved := vault.count_moved(earlier, holdout):
            raise RowsMoved(
                f"{moved} rows that were Public in version {earlier.version} are Private in "
                f"version {holdout.version}."
            )
    Holdout.objects.filter(pk=holdout.pk).update(fits_at=timezone.now())


def measure_again(submission: Submission, holdout: Holdout, predictions: Predictions) -> Measured:
    """The same on any version of the holdout, when its answer is known already."""
    competition = submission.team.competition
    return vault.measure(holdout, competition, predictions, submission.claimed_score)
