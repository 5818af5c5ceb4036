"""From the bytes of a prediction file to arrays aligned with the row ids."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from scoring.errors import PredictionError, Problem
from scoring.predictions import fast, logs, texts
from scoring.predictions.exact import Field, Table, read_table
from scoring.predictions.header import match_header
from scoring.predictions.ids import Places
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.lists import Lists
from scoring.predictions.problems import Problems
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import Schema
from scoring.predictions.source import Source, read_text
from scoring.predictions.tokens import Header, read_header

# Rows beyond twice the expected ones that are still read, so that a short file is explained too.
SPARE_ROWS = 1_000


@dataclass(frozen=True, eq=False)
class Predictions:
    """A participant's predictions in the order of the row ids.

    columns: label -> int32 codes into the classes; probability and number -> float64; labels and
        ranking -> Lists of codes; text -> Lists of bytes. Aligned and valid; they become read-only.
    """

    schema: Schema
    columns: dict[str, Any]
    row_ids: RowIds

    def __post_init__(self) -> None:
        for values in self.columns.values():
            values.setflags(write=False)

    @property
    def rows(self) -> int:
        return len(self.row_ids)

    @property
    def runs(self) -> int:
        """Return how many runs of a model there are: answers in each row."""
        (column, *others) = self.schema.columns
        is_text = column.kind == "text" and not others
        return int(texts.count(self.columns[column.name][np.arange(1)])[0]) if is_text else 1

    def each_run(self) -> "Iterator[Predictions]":
        """Yield the predictions of each of several runs."""
        (column, *_) = self.schema.columns
        for run in range(self.runs if self.runs > 1 else 0):
            of_run = texts.of_run(self.columns[column.name], run)
            yield replace(self, columns={column.name: of_run})

    @property
    def row_ids_digest(self) -> str:
        return self.row_ids.digest

    @cached_property
    def digest(self) -> str:
        """Return SHA-256, hex, of the canonical form: equal for equal predictions.

        Whatever the format, the order of rows and columns, the quoting, the line ends or the
        notation of numbers.
        """
        digest = hashlib.sha256(b"holdfast predictions 1\0")
        for part in (self.schema.canonical, self.row_ids_digest.encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        for column in self.schema.columns:
            values = self.columns[column.name]
            if isinstance(values, Lists):
                digest.update(values.offsets.astype("<i8", copy=False).data)
                values = values.codes
            if values.dtype == np.float64:
                values = values + 0.0  # -0.0 + 0.0 is 0.0
            digest.update(values.astype(values.dtype.newbyteorder("<"), copy=False).data)
        return digest.hexdigest()


def read_predictions(
    source: Source, schema: Schema, row_ids: RowIds, limits: Limits = DEFAULT_LIMITS
) -> Predictions:
    """Parse, validate and align a prediction file: CSV in UTF-8, also packed, Parquet, or a log of
    language models.

    Raise PredictionError, and nothing else, for any bytes that aren't one row of good values for
    each row id. A file with more than twice as many rows is refused where they begin: it would
    keep a worker busy and say nothing that the first ones don't.
    """
    most_rows = min(limits.max_rows, 2 * len(row_ids) + SPARE_ROWS)
    limits = replace(limits, max_rows=most_rows)
    problems = Problems(PredictionError)
    text = read_text(source, limits, problems, schema.separators)
    columns = rows = None
    if logs.is_log(text):
        header = Header(list(schema.header), 1, 0)
        rows = logs.read_rows(text, schema, limits, problems)
    else:
        header = read_header(text, problems)
        match_header(header, schema.header, limits, problems)
    if len(row_ids) <= most_rows and rows is None:
        columns = fast.read_aligned(text, header.end, header.cells, schema, row_ids)
    if columns is None:
        fast.give_memory_back()
        ids, fields = Places(row_ids), [Field.of(column) for column in schema.columns]
        table = read_table(text, header, ids, schema.id_column, fields, limits, problems, rows)
        _check_runs(table, schema, problems)
        columns = fast.aligned(table.columns, table.ids)
    return Predictions(schema, columns, row_ids)


def _check_runs(table: Table, schema: Schema, problems: Problems) -> None:
    """Fail with the first row that has more or fewer runs than the one before it."""
    for column in schema.columns:
        if column.kind == "text" and column.most:
            runs = texts.count(table.columns[column.name])
            if (differ := np.flatnonzero(np.diff(runs))).size:
                before, row = int(differ[0]), int(differ[0]) + 1
                facts = {"count": int(runs[row]), "other": int(runs[before])}
                facts |= {"line": table.lines[row], "first": table.lines[before]}
                problems.fail(Problem("runs_differ", column=column.name, **facts))
