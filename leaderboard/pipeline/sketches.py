"""Keep the sketch of a parsed file: it sees predictions, never labels."""

from leaderboard.models import Sketch, Submission
from scoring.predictions import Predictions
from scoring.predictions.sketch import sketch


def keep_sketch(submission: Submission, predictions: Predictions) -> None:
    """Store the sketch of a submission's predictions, once."""
    if not Sketch.objects.filter(pk=submission.pk).exists():
        sums = sketch(predictions).astype("<f4").tobytes()
        Sketch.objects.update_or_create(submission=submission, defaults={"sums": sums})
