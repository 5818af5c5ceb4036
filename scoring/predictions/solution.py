"""The organizer's solution: the labels of every row and which split it is in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions import exact, fast
from scoring.predictions.cells import CellError, Parser
from scoring.predictions.exact import Field, Table
from scoring.predictions.header import match_header
from scoring.predictions.packing import Damaged, pack, unpack
from scoring.predictions.problems import Problems, quoted
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import USAGE_NAMES, Column, Schema
from scoring.predictions.source import DEFAULT_LIMITS, Limits, Source, check_utf8, read_text
from scoring.predictions.tokens import read_header

_EXPECTED_USAGE = "Public, Private, Final or Ignored"
_FORMAT = "holdfast solution 1"


class Usage(IntEnum):
    """The split that a row is in, as it is stored."""

    PUBLIC = 0
    PRIVATE = 1
    FINAL = 2
    IGNORED = 3


@dataclass(frozen=True)
class Counts:
    """How many rows each split has."""

    public: int
    private: int
    final: int
    ignored: int


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Labels in the order of the row ids, encoded like predictions; arrays are read-only.

    columns: label -> int32 codes; probability -> what happened (0 or 1); number -> float64. The
        labels of ignored rows may be absent: code -1, NaN.
    usage: int8, of each row a `Usage`.
    row_ids_digest: the digest of the row ids that it is aligned with.

    It shows no labels, and can't be pickled or copied; `to_bytes` is for the vault alone.
    """

    schema: Schema
    columns: dict[str, NDArray[Any]]
    usage: NDArray[np.int8]
    row_ids_digest: str

    def __post_init__(self) -> None:
        for values in (*self.columns.values(), self.usage):
            values.setflags(write=False)

    def __repr__(self) -> str:
        return "<Solution: not shown>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Solution may not be pickled or copied")

    def __reduce_ex__(self, protocol: object, /) -> NoReturn:
        self.__reduce__()

    def counts(self) -> Counts:
        """The number of rows of each split."""
        return Counts(*(int(n) for n in np.bincount(self.usage, minlength=len(Usage))))

    def to_bytes(self) -> bytes:
        """An npz without pickles: `from_bytes` gives the same solution back."""
        meta = {
            "format": _FORMAT,
            "schema": self.schema.to_json(),
            "row_ids": self.row_ids_digest,
        }
        arrays: dict[str, NDArray[Any]] = {
            "meta": np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8),
            "usage": self.usage,
        }
        for position, column in enumerate(self.schema.columns):
            arrays[f"column{position}"] = self.columns[column.name]
        return pack(arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Solution":
        """The inverse of `to_bytes`, strict. Raises SolutionError for anything else."""
        try:
            return _unpacked(data)
        except (Damaged, ParameterError, ValueError, KeyError, TypeError):
            # Nothing of the content may be seen through the error, not as its cause either.
            problem = Problem("solution_damaged", "The stored solution can't be read back.")
        raise SolutionError([problem])


def read_solution(
    source: Source, schema: Schema, row_ids: RowIds, limits: Limits = DEFAULT_LIMITS
) -> Solution:
    """Parses, validates and aligns a solution file: the schema's columns and `Usage`.

    The split is in a column `Usage` (or `split`), in any case, and says Public, Private, Final or
    Ignored, in any case; without one all rows are private. Raises SolutionError.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems)
    header = read_header(text, problems)
    usage = next((cell for cell in header.cells if cell.strip().casefold() in USAGE_NAMES), None)
    expected = schema.header if usage is None else (*schema.header, usage)
    places = match_header(header, expected, limits, problems)
    check_utf8(text, problems)
    fields = [_field(column, places[column.name]) for column in schema.columns]
    if usage is not None:
        fields.append(Field(usage, places[usage], _parse_usage, _EXPECTED_USAGE, np.int8, True))
    table = exact.read_table(
        text, places[schema.id_column], len(header.cells), fields, limits, problems
    )
    positions = exact.align(table, row_ids, schema.id_column, problems)
    problems.raise_any()
    columns = table.columns(fields)
    splits = _splits(columns.pop(usage) if usage else None, len(row_ids))
    _check_absent(table, fields, splits, problems)
    problems.raise_any()
    ordered = fast.aligned({**columns, "": splits}, positions)
    return Solution(schema, ordered, ordered.pop(""), row_ids.digest)


def _field(column: Column, index: int) -> Field:
    """A column whose cells may be empty, for now: they may in ignored rows."""
    field = Field.of(column, index)
    absent = -1.0 if column.kind == "label" else np.nan

    def parse(text: str, parse: Parser = field.parse) -> float:
        return parse(text) if text.strip() else absent

    return Field(field.name, index, parse, field.expected, field.dtype, field.by_value)


def _parse_usage(text: str) -> float:
    try:
        return Usage[text.strip().upper()]
    except KeyError:
        says = f"{quoted(text)} is not {_EXPECTED_USAGE}."
        raise CellError("unknown_usage", says) from None


def _splits(usage: NDArray[np.int8] | None, rows: int) -> NDArray[np.int8]:
    return np.full(rows, Usage.PRIVATE, np.int8) if usage is None else usage


def _check_absent(
    table: Table, fields: Sequence[Field], splits: NDArray[np.int8], problems: Problems
) -> None:
    """Notes rows that are scored and have no label, and a solution that scores no row."""
    for each, values in zip(fields, table.values, strict=True):
        if each.parse is _parse_usage:
            continue
        numbers = np.frombuffer(values, np.float64)
        absent = numbers < 0 if each.dtype == np.int32 else np.isnan(numbers)
        for row in np.flatnonzero(absent & (splits != Usage.IGNORED)):
            problems.add(_absent(table.lines[row], each), alike=each.name)
    if not np.any(splits == Usage.PRIVATE):
        problems.add(
            Problem(
                "no_private_rows",
                "No row is Private, so there is nothing to hold out.",
                expected="at least one Private row",
            )
        )


def _absent(line: int, each: Field) -> Problem:
    return Problem(
        "empty_cell",
        f"Line {line}, column `{each.name}`: the cell is empty; give {each.expected}. "
        "Only ignored rows may have no label.",
        line=line,
        column=each.name,
        value="",
        expected=each.expected,
    )


def _unpacked(data: bytes) -> Solution:
    arrays = unpack(data)
    meta = json.loads(arrays.pop("meta").tobytes())
    if set(meta) != {"format", "schema", "row_ids"} or meta["format"] != _FORMAT:
        raise Damaged("another format")
    schema, digest, usage = Schema.from_json(meta["schema"]), meta["row_ids"], arrays.pop("usage")
    columns = {
        column.name: _checked(arrays.pop(f"column{position}"), column, usage)
        for position, column in enumerate(schema.columns)
    }
    if arrays or not isinstance(digest, str) or usage.dtype != np.int8 or not len(usage):
        raise Damaged("other arrays than expected")
    if usage.min() < 0 or usage.max() >= len(Usage):
        raise Damaged("an unknown usage")
    return Solution(schema, columns, usage, digest)


def _checked(values: NDArray[Any], column: Column, usage: NDArray[Any]) -> NDArray[Any]:
    dtype = np.int32 if column.kind == "label" else np.float64
    if values.dtype != dtype or values.shape != usage.shape:
        raise Damaged("an array of another type or length")
    scored = values[usage != Usage.IGNORED]
    top = {"label": len(column.classes) - 1, "probability": 1}.get(column.kind, np.inf)
    low = -np.inf if column.kind == "number" else 0
    if not np.all(np.isfinite(scored) & (scored >= low) & (scored <= top)):
        raise Damaged("a label that the schema doesn't have")
    return values
