"""What all parts of setting a competition up read of a round."""

from __future__ import annotations

from django.core.files.base import File

from leaderboard.errors import Refused
from leaderboard.models import FileRole, Round
from leaderboard.platform.files import open_stored
from scoring.predictions import RowIds, Schema, read_row_ids


def schema_of(round: Round) -> Schema:
    """Return the columns of a prediction file. Raises Refused as long as they are not written."""
    if not round.schema:
        raise Refused("invalid", field="schema", variant="no_schema")
    return Schema.from_json(round.schema)


def sample_ids(round: Round, schema: Schema) -> RowIds | None:
    """Return the row ids of the sample submission; None without one."""
    sample = round.origin.files.filter(role=FileRole.SAMPLE).first()
    if sample is None:
        return None
    with open_stored(sample.file.name) as file:
        return read_row_ids(file, schema)


def content_of(file: File[bytes]) -> bytes:
    """Return the whole of an upload, which stays at its beginning."""
    file.seek(0)
    content: bytes = file.read()
    file.seek(0)
    return content
