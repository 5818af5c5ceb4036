"""Parse a stored file into arrays aligned to row ids. It sees ids and columns, never labels."""

from functools import lru_cache

from django.db.models import QuerySet

from leaderboard.models import CompetitionFile, FileRole, Round, Submission
from leaderboard.platform.files import open_whole
from leaderboard.platform.statements import prepared
from leaderboard.vault import custom_metrics
from scoring.predictions import (
    Limits,
    Predictions,
    RowIds,
    Schema,
    read_predictions,
    read_row_ids,
)


def parse(submission: Submission) -> Predictions:
    """Return the submission's predictions, in the order of the sample submission.

    Raises PredictionError where the file is wrong: what it says depends on the file, the sample
    submission, the schema and the checks of custom metrics alone. Raises FileDamaged where it, or
    the sample submission, is not what was uploaded.
    """
    return parse_file(submission.round, submission.file, submission.sha256)


def parse_file(round: Round, name: str, sha256: str) -> Predictions:
    """Return the predictions of a stored file for a round, as `parse` does."""
    schema = Schema.from_json(round.schema)
    limits = Limits.of_upload(round.max_file_bytes)
    with open_whole(name, sha256) as file:
        predictions = read_predictions(file, schema, row_ids(round, schema), limits)
    for board in round.boards.all():
        custom_metrics.screen(board.metric, predictions)
    return predictions


def row_ids(round: Round, schema: Schema) -> RowIds:
    """Return the expected ids: those of the sample submission."""
    ((name, sha256),) = _sample(round.origin.pk)
    return _read_row_ids(name, sha256, schema)


@prepared
def _sample(round: int) -> QuerySet[CompetitionFile, tuple[str, str]]:
    samples = CompetitionFile.objects.filter(round=round, role=FileRole.SAMPLE)
    return samples.order_by().values_list("file", "sha256")


@lru_cache(maxsize=4)
def _read_row_ids(name: str, sha256: str, schema: Schema) -> RowIds:
    with open_whole(name, sha256) as file:
        return read_row_ids(file, schema)
