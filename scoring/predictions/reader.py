"""From the bytes of a prediction file to arrays aligned with the row ids."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import PredictionError
from scoring.predictions import exact, fast
from scoring.predictions.exact import Field
from scoring.predictions.header import match_header
from scoring.predictions.ids import Places
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.lists import Lists
from scoring.predictions.problems import Problems
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import Header, read_header

# Rows beyond twice the expected ones that are still read, so that a short file is explained too.
SPARE_ROWS = 1_000


@dataclass(frozen=True, eq=False)
class Predictions:
    """A participant's predictions in the order of the row ids.

    columns: label -> int32 codes into the classes; probability and number -> float64; labels and
        ranking -> Lists of codes. Read-only.
    """

    schema: Schema
    columns: dict[str, Any]
    row_ids: RowIds

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.row_ids)

    @property
    def row_ids_digest(self) -> str:
        """The digest of the row ids that they are aligned with."""
        return self.row_ids.digest

    @cached_property
    def digest(self) -> str:
        """SHA-256, hex, of the canonical form: equal for equal predictions.

        Whatever the format, the order of rows and columns, the quoting, the line ends or the
        notation of numbers.
        """
        digest = hashlib.sha256(b"holdfast predictions 1\0")
        for part in (self.schema.canonical, self.row_ids_digest.encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        for column in self.schema.columns:
            for values in _canonical(self.columns[column.name]):
                digest.update(values.data)
        return digest.hexdigest()


def read_predictions(
    source: Source, schema: Schema, row_ids: RowIds, limits: Limits = DEFAULT_LIMITS
) -> Predictions:
    """Parses, validates and aligns a prediction file: CSV in UTF-8, also packed, or Parquet.

    Raises PredictionError, and nothing else, for any bytes that aren't one row of good values for
    each row id. A file with more than twice as many rows is refused where they begin: it would
    keep a worker busy and say nothing that the first ones don't.
    """
    most_rows = min(limits.max_rows, 2 * len(row_ids) + SPARE_ROWS)
    limits = replace(limits, max_rows=most_rows)
    problems = Problems(PredictionError)
    text = read_text(source, limits, problems, schema.separators)
    header = read_header(text, problems)
    places = match_header(header, schema.header, limits, problems)
    columns = None
    if len(row_ids) <= most_rows:
        columns = fast.read_aligned(text, header.end, header.cells, schema, row_ids)
    if columns is None:
        fast.give_memory_back()
        fields = [Field.of(column, places[column.name]) for column in schema.columns]
        columns = _read_exactly(text, header, fields, schema, row_ids, limits, problems)
    return predictions_of(columns, schema, row_ids)


def predictions_of(columns: dict[str, Any], schema: Schema, row_ids: RowIds) -> Predictions:
    """Predictions from aligned, valid arrays; they become read-only."""
    for values in columns.values():
        values.setflags(write=False)
    return Predictions(schema, columns, row_ids)


def _read_exactly(
    text: bytes,
    header: Header,
    fields: list[Field],
    schema: Schema,
    row_ids: RowIds,
    limits: Limits,
    problems: Problems,
) -> dict[str, Any]:
    check_utf8(text, problems)
    id_index = header.cells.index(schema.id_column)
    ids = Places(row_ids)
    table = exact.read_table(text, ids, id_index, len(header.cells), fields, limits, problems)
    positions = ids.checked(table.lines, schema.id_column, problems)
    problems.raise_any()
    columns = table.columns(fields)
    del table
    return fast.aligned(columns, positions)


def _canonical(values: "NDArray[Any] | Lists") -> list[NDArray[Any]]:
    if isinstance(values, Lists):
        return [values.offsets.astype("<i8", copy=False), values.codes.astype("<i4", copy=False)]
    if values.dtype == np.int32:
        return [values.astype("<i4", copy=False)]
    return [(values + 0.0).astype("<f8", copy=False)]  # -0.0 + 0.0 is 0.0
