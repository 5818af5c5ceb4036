"""Dropped files: read as far as they have to be, published, named in what is wrong with them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from django.core.files.base import File
from django.core.files.storage import default_storage
from pyarrow import csv as arrow_csv

from leaderboard.errors import Refused
from leaderboard.models import CompetitionFile, FileRole, Round, StagedFile, User
from leaderboard.organize.files import add_file, check_is_free, content_of
from scoring.dropped import Sheet, open_sheet
from scoring.dropped.labels import align
from scoring.dropped.roles import shorten
from scoring.errors import ParameterError, SolutionError
from scoring.predictions import RowIds, Schema

_HEAD: Final = 64_000_000  # bytes of training and test data that are looked at

if TYPE_CHECKING:
    Dropped = File[bytes] | StagedFile


def make_sample(schema: Schema, ids: Iterable[str], constant: tuple[str, ...]) -> bytes:
    """Return a sample submission: these ids, each with the same prediction."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(schema.header)
    writer.writerows((each, *constant) for each in ids)
    return file.getvalue().encode()


def read_split_cells(entry: CompetitionFile, id_column: str, column: str, ids: RowIds) -> list[str]:
    """Return a column of the published test data, in the order of the row ids."""
    with default_storage.open(str(entry.file.name), "rb") as file:
        table = read_texts(file, entry.name, (id_column, column))
    rows = align(ids, table[id_column].combine_chunks())
    cells: list[str] = table[column].take(pa.array(rows)).to_pylist()
    return cells


def peek(name: str, file: Dropped, *, whole: bool = False) -> Sheet:
    """Return a table by its header and its beginning."""
    with opened(file) as source:
        head = source.read() if whole else source.read(_HEAD)
        source.seek(0)
    return open_sheet(name, head, is_whole=whole or len(head) < _HEAD)


@contextmanager
def opened(file: Dropped) -> Iterator[Any]:
    """Open a file at its beginning."""
    if isinstance(file, StagedFile):
        with default_storage.open(str(file.file.name), "rb") as source:
            yield source
    else:
        file.seek(0)
        yield file


def whole(file: Dropped) -> bytes:
    """Return all bytes of a file."""
    with opened(file) as source:
        return content_of(source)


def name_of(file: Dropped) -> str:
    """Return the file's name without folders."""
    return PurePath(file.name or "").name or "A file"


def publish_dropped(round: Round, role: FileRole, file: Dropped, by: User) -> str:
    """Publish a file; return where it is stored, empty for one that was before."""
    if not isinstance(file, StagedFile):
        # What it holds was compared with the solution's columns: `sure`.
        return str(add_file(round, file, role=role, sure=True, by=by).file.name)
    check_is_free(round, file.name)
    CompetitionFile.objects.create(
        round=round,
        name=file.name,
        role=role,
        file=file.file.name,
        size=file.size,
        sha256=file.sha256,
    )
    return ""


def read_texts(source: Any, name: str, columns: tuple[str, ...]) -> pa.Table:
    """Return columns of a large table as texts, a part of it at a time."""
    kinds = dict.fromkeys(columns, pa.string())
    options = arrow_csv.ConvertOptions(
        include_columns=list(kinds), column_types=kinds, strings_can_be_null=False
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    try:
        with arrow_csv.open_csv(
            pa.PythonFile(source, mode="r"), parse_options=parse, convert_options=options
        ) as reader:
            return reader.read_all()
    except (pa.ArrowException, KeyError) as error:
        raise ParameterError("test", f"{name} is no table: {shorten(error)}") from None


def read_texts_of(file: Dropped, sheet: Sheet, column: str) -> pa.StringArray:
    """Return a column of a large table. Raises Refused."""
    try:
        with opened(file) as source:
            return read_texts(source, sheet.name, (column,))[column].combine_chunks()
    except ParameterError as error:
        raise blame("test", error.message) from None


@contextmanager
def named(role: str, name: str) -> Iterator[None]:
    """Name the file in what its reader finds wrong."""
    try:
        yield
    except SolutionError as error:
        told = []
        for problem in error.problems[:3]:
            place = f"line {problem.line}" if problem.line else ""
            told.append(f"{', '.join(filter(None, (name, place)))}: {problem.message}")
        more = error.total - len(told)
        if more > 0:
            told.append(f"{more:,} more {'problem' if more == 1 else 'problems'}.")
        raise blame(role, " ".join(told)) from None
    except ParameterError as error:
        raise blame(role, f"{name}: {error.message}") from None


def blame(role: str, message: str) -> Refused:
    """Return the refusal of a file in a role, or of another field."""
    return Refused("invalid", field=role, message=message)


def neutral(schema: Schema) -> tuple[str, ...]:
    """Return a valid prediction where no metric of rows names the best one."""
    cells = {"probability": "0.5", "number": "0"}
    return tuple(cells.get(each.kind) or each.classes[0] for each in schema.columns)
