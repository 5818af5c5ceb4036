"""Public files: adding and removing them, and what the rest of a set-up reads of them."""

from __future__ import annotations

import csv
import hashlib
from pathlib import PurePath
from typing import Any, Final

from django.core.files.base import File
from django.db import transaction
from django.db.models.fields.files import FieldFile

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Audience, CompetitionFile, EventKind, FileRole, Round, User
from leaderboard.notify import events
from leaderboard.platform.files import open_stored
from scoring.predictions import RowIds, Schema, read_row_ids
from scoring.predictions.schema import USAGE_NAMES

NAME_LENGTH: Final = 120
_HEADER_BYTES: Final = 64 * 1024


def add_file(
    round: Round,
    file: File[bytes],
    *,
    role: str,
    description: str = "",
    sure: bool = False,
    by: User | None = None,
) -> CompetitionFile:
    """Add a public file. Raises Refused; a sample submission is read first (SolutionError).

    sure: it holds no hidden labels, though it looks as if it did.
    """
    check_right(by, round.competition, Right.EDIT)
    name = check_file_name(file)
    check_is_free(round, name)
    if not sure and (reason := find_labels(round, file, role)):
        raise Refused("looks_hidden", reason=reason)
    if role == FileRole.SAMPLE:
        if round.files.filter(role=FileRole.SAMPLE).exists():
            raise Refused("invalid", field="file", variant="sample_exists")
        read_row_ids(content_of(file), schema_of(round))
    with transaction.atomic():
        entry = CompetitionFile.objects.create(
            round=round,
            name=name,
            role=role,
            description=description,
            sha256=digest_of(file),
            size=file.size,
            file=File(file, name=name),
        )
        _record(entry, by, added=_facts(entry))
    return entry


def check_file_name(file: File[bytes]) -> str:
    """Return the file's name without folders. Raises Refused for one that can't be kept."""
    name = PurePath(file.name or "").name
    if not name:
        raise Refused("invalid", field="file", variant="no_file_name")
    if len(name) > NAME_LENGTH:
        raise Refused("invalid", field="file", variant="file_name_long", limit=NAME_LENGTH)
    return name


def check_is_free(round: Round, name: str) -> None:
    """Raise Refused where the round has a file of this name."""
    if round.files.filter(name=name).exists():
        raise Refused("invalid", field="file", variant="file_exists", name=name)


def remove_file(entry: CompetitionFile, *, by: User | None = None) -> None:
    """Remove a public file; the sample only as long as no solution is aligned to it."""
    check_right(by, entry.round.competition, Right.EDIT)
    if entry.role == FileRole.SAMPLE and entry.round.active_holdout is not None:
        raise Refused("invalid", field="file", variant="sample_in_use")
    with transaction.atomic():
        delete_stored(entry.file)
        removed = _facts(entry)
        entry.delete()
        _record(entry, by, removed=removed)


def _facts(entry: CompetitionFile) -> dict[str, Any]:
    names = ("name", "role", "size", "sha256")
    return {name: getattr(entry, name) for name in names}


def _record(entry: CompetitionFile, by: User | None, **data: Any) -> None:
    competition = entry.round.competition
    is_draft = competition.opened_by_organizer_at is None
    events.record(
        competition,
        EventKind.FILES_CHANGED,
        actor=by,
        audience=Audience.ORGANIZERS if is_draft else Audience.PUBLIC,
        subjects={"round": entry.round.number},
        **data,
    )


def delete_stored(file: FieldFile) -> None:
    """Delete the bytes once the row is gone for good."""
    storage, name = file.storage, file.name
    if name:
        transaction.on_commit(lambda: storage.delete(name))


def find_labels(round: Round, file: File[bytes], role: str) -> str:
    """Return why a file for participants looks as if it held the hidden labels; empty if not.

    The names in its first line are read; of a file that isn't CSV they are nothing useful.
    """
    if not round.schema:
        return ""
    file.seek(0)
    first = (file.read(_HEADER_BYTES).splitlines() or [b""])[0]
    file.seek(0)
    cells = next(csv.reader([first.decode("utf-8-sig", "replace")]), [])
    header = {cell.strip().casefold() for cell in cells}
    columns = {column.name.casefold() for column in schema_of(round).columns}
    if header & set(USAGE_NAMES) and columns <= header:
        return (
            "This looks like the solution: it has the columns to predict and a column that splits "
            "the rows. Files on this page are published. The solution has its own page."
        )
    shown = sorted(columns & header)
    if role == FileRole.TEST and shown:
        return (
            f"Test data are published without labels, and this file has a column “{shown[0]}”, "
            "which is to be predicted."
        )
    return ""


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


def digest_of(file: File[bytes]) -> str:
    """Return SHA-256, hex, of an upload of any size, which stays at its beginning."""
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()


def content_of(file: File[bytes]) -> bytes:
    """Return the whole of an upload, which stays at its beginning."""
    file.seek(0)
    content: bytes = file.read()
    file.seek(0)
    return content
