"""What all parts of setting a competition up read of it."""

from __future__ import annotations

from django.core.files.base import File

from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Holdout
from leaderboard.platform.files import open_stored
from scoring.predictions import RowIds, Schema, read_row_ids


def schema_of(competition: Competition) -> Schema:
    """The columns of a prediction file. Raises Refused as long as they are not written."""
    if not competition.schema:
        raise Refused.invalid("schema", "The columns of a prediction file are not written yet.")
    return Schema.from_json(competition.schema)


def sample_ids(competition: Competition, schema: Schema) -> RowIds | None:
    """The row ids of the sample submission; None without one."""
    sample = competition.files.filter(role=FileRole.SAMPLE).first()
    if sample is None:
        return None
    with open_stored(sample.file.name) as file:
        return read_row_ids(file, schema)


def holdout_in_force(competition: Competition) -> Holdout | None:
    """The sealed solution in force; None without one."""
    return competition.holdouts.filter(retired_at__isnull=True).first()


def content_of(file: File[bytes]) -> bytes:
    """The whole of an upload, which stays at its beginning."""
    file.seek(0)
    content: bytes = file.read()
    file.seek(0)
    return content
