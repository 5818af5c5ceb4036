"""Opens the vault for one moment: aligned predictions in, a measurement out."""

from leaderboard import own_metrics, vault
from leaderboard.models import Holdout, Submission
from leaderboard.vault import Measured
from scoring.predictions import Predictions


def measure(submission: Submission, predictions: Predictions) -> tuple[Holdout, Measured]:
    """Measures predictions on the holdout in force.

    What comes back is held in memory for one step of the mechanism, and can't be printed, pickled,
    logged or queued. Where an operator's own metric failed, the submission's `failure` says where,
    for the organizer. Raises StateError where the holdout was sealed for other rows or columns.
    """
    competition = submission.team.competition
    holdout = competition.holdouts.get(retired_at__isnull=True)
    with own_metrics.noting() as notes:
        measured = vault.measure(holdout, competition, predictions, submission.claimed_score)
    if notes:
        Submission.objects.filter(pk=submission.pk).update(failure=notes[0][:200])
    return holdout, measured
