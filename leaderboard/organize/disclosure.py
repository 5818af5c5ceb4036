"""What must not be published by mistake: the hidden labels."""

from __future__ import annotations

import csv
from typing import Final

from django.core.files.base import File

from leaderboard.models import FileRole, Round
from scoring.predictions import Schema
from scoring.predictions.schema import USAGE_NAMES

_HEADER_BYTES: Final = 64 * 1024


def find_labels(round: Round, file: File[bytes], role: str) -> str:
    """Return why a file for participants looks as if it held the hidden labels; empty if not."""
    if not round.schema:
        return ""
    header = _read_header(file)
    columns = {column.name.casefold() for column in Schema.from_json(round.schema).columns}
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


def _read_header(file: File[bytes]) -> set[str]:
    """Return the names in the first line, in lower case; of a file that isn't CSV, nothing useful.

    The file stays at its beginning.
    """
    file.seek(0)
    first = (file.read(_HEADER_BYTES).splitlines() or [b""])[0]
    file.seek(0)
    cells = next(csv.reader([first.decode("utf-8-sig", "replace")]), [])
    return {cell.strip().casefold() for cell in cells}
