"""Turns a stored file into arrays aligned to the row ids. It sees ids and columns, never labels."""

from functools import lru_cache

from leaderboard.models import Competition, FileRole, Submission
from leaderboard.platform.files import open_whole
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
    """The submission's predictions, in the order of the sample submission.

    Raises PredictionError where the file is wrong: what it says depends on the file, the sample
    submission, the schema and the checks of an operator's own metric alone. Raises FileDamaged
    where it, or the sample submission, is not what was uploaded.
    """
    competition = submission.team.competition
    schema = Schema.from_json(competition.schema)
    with open_whole(submission.file, submission.sha256) as file:
        predictions = read_predictions(
            file,
            schema,
            row_ids(competition, schema),
            Limits.of_upload(competition.max_file_bytes),
        )
    custom_metrics.screen(competition.metric, predictions)
    return predictions


def row_ids(competition: Competition, schema: Schema) -> RowIds:
    """The expected ids: those of the sample submission."""
    sample = competition.files.get(role=FileRole.SAMPLE)
    return _read_row_ids(sample.file.name or "", sample.sha256, schema)


@lru_cache(maxsize=4)
def _read_row_ids(name: str, sha256: str, schema: Schema) -> RowIds:
    with open_whole(name, sha256) as file:
        return read_row_ids(file, schema)
