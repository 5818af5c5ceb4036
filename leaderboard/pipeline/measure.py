"""Opens the vault for one moment: aligned predictions in, a measurement out."""

from leaderboard import vault
from leaderboard.models import Holdout, Submission
from leaderboard.vault import Measured
from scoring.predictions import Predictions


def measure(submission: Submission, predictions: Predictions) -> tuple[Holdout, Measured]:
    """Measures predictions on the holdout in force.

    What comes back is held in memory for one step of the mechanism, and can't be printed, pickled,
    logged or queued. Raises StateError where the holdout was sealed for other rows or columns.
    """
    competition = submission.team.competition
    holdout = competition.holdouts.get(retired_at__isnull=True)
    return holdout, vault.measure(holdout, competition, predictions, submission.claimed_score)
