"""Keep the sketch of a parsed file: it sees predictions, never labels."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.models import Sketch, Submission
from leaderboard.platform.statements import insert_row, prepared, update_rows
from scoring.predictions import Predictions
from scoring.predictions.sketch import sketch


def keep_sketch(submission: Submission, predictions: Predictions) -> None:
    """Note that a submission is read, and store the sketch of its predictions, once."""
    sums = sketch(predictions).astype("<f4").tobytes()
    with transaction.atomic():
        # The update locks the row: another worker that has it as well sees the sketch.
        update_rows(Submission, {"pk": submission.pk}, read_at=timezone.now())
        if not _kept(submission.pk):
            insert_row(Sketch(submission=submission, sums=sums))


@prepared
def _kept(submission: int) -> QuerySet[Sketch, int]:
    return Sketch.objects.filter(pk=submission).values_list("pk", flat=True)
