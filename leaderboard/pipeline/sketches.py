"""Keep the sketch of a parsed file: it sees predictions, never labels."""

from contextlib import suppress

from django.db import IntegrityError
from django.db.models import QuerySet

from leaderboard.models import Sketch, Submission
from leaderboard.platform.statements import insert_row, prepared
from scoring.predictions import Predictions
from scoring.predictions.sketch import sketch


def keep_sketch(submission: Submission, predictions: Predictions) -> None:
    """Store the sketch of a submission's predictions, once."""
    if not _kept(submission.pk):
        sums = sketch(predictions).astype("<f4").tobytes()
        with suppress(IntegrityError):  # another worker has stored the same meanwhile
            insert_row(Sketch(submission=submission, sums=sums))


@prepared
def _kept(submission: int) -> QuerySet[Sketch, int]:
    return Sketch.objects.filter(pk=submission).values_list("pk", flat=True)
