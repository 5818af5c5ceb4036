"""Public files: adding and removing them."""

from __future__ import annotations

import hashlib
from pathlib import PurePath

from django.core.files.base import ContentFile, File
from django.db import transaction
from django.db.models.fields.files import FieldFile

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import CompetitionFile, FileRole, Round, User
from leaderboard.organize.disclosure import find_labels
from leaderboard.organize.parts import content_of, schema_of
from scoring.predictions import read_row_ids


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
    name = PurePath(file.name or "").name
    if not name:
        raise Refused("invalid", field="file", variant="no_file_name")
    if round.files.filter(name=name).exists():
        raise Refused("invalid", field="file", variant="file_exists", name=name)
    if not sure and (reason := find_labels(round, file, role)):
        raise Refused("looks_hidden", reason=reason)
    if role == FileRole.SAMPLE:
        if round.files.filter(role=FileRole.SAMPLE).exists():
            raise Refused("invalid", field="file", variant="sample_exists")
        read_row_ids(content_of(file), schema_of(round))
    content = content_of(file)
    return CompetitionFile.objects.create(
        round=round,
        name=name,
        role=role,
        description=description,
        file=ContentFile(content, name=name),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def remove_file(entry: CompetitionFile, *, by: User | None = None) -> None:
    """Remove a public file; the sample only as long as no solution is aligned to it."""
    check_right(by, entry.round.competition, Right.EDIT)
    if entry.role == FileRole.SAMPLE and entry.round.active_holdout is not None:
        raise Refused("invalid", field="file", variant="sample_in_use")
    delete_stored(entry.file)
    entry.delete()


def delete_stored(file: FieldFile) -> None:
    """Delete the bytes once the row is gone for good."""
    storage, name = file.storage, file.name
    if name:
        transaction.on_commit(lambda: storage.delete(name))
