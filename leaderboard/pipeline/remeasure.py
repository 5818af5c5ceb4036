"""Read and measure stored files again, for duels, publication, verification: nothing is written."""

from leaderboard import vault
from leaderboard.models import Board, Holdout, Release, Submission
from leaderboard.pipeline.parse import parse
from leaderboard.platform.files import FileDamaged
from leaderboard.vault import Measured
from scoring.duels import Comparison
from scoring.errors import PredictionError, StateError
from scoring.predictions import Predictions
from scoring.verification.publications import Lost


def remeasure(submission: Submission, holdout: Holdout, board: Board) -> tuple[str, Measured]:
    """Return the digest of a submission's predictions, and what a board measures on a revision.

    Raises FileNotFoundError, FileDamaged, PredictionError, StateError where the file can't be used
    any more, and VaultClosed.
    """
    predictions = parse(submission)
    return predictions.digest, vault.measure(holdout, board, predictions, submission.claimed_score)


def compare(holdout: Holdout, better: Release, worse: Release) -> Comparison | Lost:
    """Return how the files of two answers compare on the private rows, or which one is lost.

    Raises VaultClosed, and what an outage raises.
    """
    files = []
    for entry in (better, worse):
        found = _read(holdout, entry)
        if isinstance(found, str):
            return Lost(better.number, f"The file of entry {entry.number} {found}.")
        files.append(found)
    try:
        return vault.compare(holdout, better.board, *files)
    except StateError:
        return Lost(better.number, "The files are of other rows than the solution.")


def _read(holdout: Holdout, entry: Release) -> Predictions | str:
    """Return the predictions that an answer was of, or what has become of them."""
    if not entry.submission.file:
        return "was lost by the server"
    try:
        predictions = parse(entry.submission)
    except FileNotFoundError:
        return "is gone"
    except FileDamaged:
        return "is damaged"
    except PredictionError:
        return "can't be read any more"
    asked_by = {"team": entry.team.uid, "board": entry.board.known_as}
    if vault.noise(holdout).tag(predictions.digest, **asked_by) != entry.predictions_tag:
        return "is read as other predictions today"
    return predictions
