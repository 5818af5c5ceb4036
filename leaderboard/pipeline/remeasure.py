"""Reading and measuring a stored file again, for openings and verification: nothing is written."""

from __future__ import annotations

from leaderboard.models import Holdout, Submission
from leaderboard.pipeline.measure import measure_again
from leaderboard.pipeline.parse import parse
from leaderboard.vault import Measured


def remeasure(submission: Submission, holdout: Holdout) -> tuple[str, Measured]:
    """The digest of a submission's predictions, and what a version of the holdout says of them.

    Raises FileNotFoundError, FileDamaged, PredictionError, StateError where the file can't be used
    any more, and VaultClosed.
    """
    predictions = parse(submission)
    return predictions.digest, measure_again(submission, holdout, predictions)
