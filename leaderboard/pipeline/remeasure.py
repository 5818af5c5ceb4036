"""Read and measure a stored file again, for publication and verification: nothing is written."""

from leaderboard import vault
from leaderboard.models import Board, Holdout, Submission
from leaderboard.pipeline.parse import parse
from leaderboard.vault import Measured


def remeasure(submission: Submission, holdout: Holdout, board: Board) -> tuple[str, Measured]:
    """Return the digest of a submission's predictions, and what a board measures on a revision.

    Raises FileNotFoundError, FileDamaged, PredictionError, StateError where the file can't be used
    any more, and VaultClosed.
    """
    predictions = parse(submission)
    return predictions.digest, vault.measure(holdout, board, predictions, submission.claimed_score)
