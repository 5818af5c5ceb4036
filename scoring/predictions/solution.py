"""The organizer's solution: the labels of every row and which split it is in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.measurement import effective_rows
from scoring.predictions import exact, fast
from scoring.predictions.cells import CellError, parse_number
from scoring.predictions.exact import Field, Table
from scoring.predictions.header import match_header
from scoring.predictions.ids import Places
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.lists import Lists
from scoring.predictions.packing import Damaged, pack, unpack
from scoring.predictions.problems import Problems, quoted
from scoring.predictions.repeats import where
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import USAGE_NAMES, WEIGHT_NAMES, Column, Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import Header, read_header

_EXPECTED_WEIGHT = "a number from 0"
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

    columns: label -> int32 codes; probability -> what happened (0 or 1); number -> float64; labels
        -> Lists; ranking -> Lists of the relevant labels. The labels of ignored rows may be
        absent: code -1, NaN, an empty list.
    usage: int8, of each row a `Usage`.
    row_ids_digest: the digest of the row ids that it is aligned with.
    weights: float64, finite, not negative, not all 0 in a split, 0 in ignored rows; None if none.
    row_ids: the row ids themselves, as long as it isn't stored.

    It shows no labels, and can't be pickled or copied; `to_bytes` is for the vault alone.
    """

    schema: Schema
    columns: dict[str, Any]
    usage: NDArray[np.int8]
    row_ids_digest: str
    weights: NDArray[np.float64] | None = None
    row_ids: RowIds | None = None

    def __post_init__(self) -> None:
        for values in (*self.columns.values(), self.usage, self.weights):
            if values is not None:
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

    def effective_rows(self, usage: Usage) -> int:
        """How many plain rows the split counts as: its rows, or fewer where they have weights."""
        split = self.usage == usage
        if self.weights is None or not split.any():
            return int(np.count_nonzero(split))
        return effective_rows(self.weights[split])

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
            values = self.columns[column.name]
            if isinstance(values, Lists):
                arrays[f"offsets{position}"], values = values.offsets, values.codes
            arrays[f"column{position}"] = values
        if self.weights is not None:
            arrays["weights"] = self.weights
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
    Ignored, in any case; without one all rows are private. A column `Weight` (or `sample_weight`)
    that isn't to be predicted has the weights of the rows. Raises SolutionError.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    header = read_header(text, problems)
    usage = _named(header, USAGE_NAMES)
    weight = None if _has_weight(schema) else _named(header, WEIGHT_NAMES)
    others = [name for name in (usage, weight) if name is not None]
    places = match_header(header, (*schema.header, *others), limits, problems)
    check_utf8(text, problems)
    fields = [_field(column, places[column.name]) for column in schema.columns]
    if usage is not None:
        fields.append(Field(usage, places[usage], _parse_usage, _EXPECTED_USAGE, np.int8, True))
    if weight is not None:
        fields.append(Field(weight, places[weight], _parse_weight, _EXPECTED_WEIGHT, np.float64))
    ids, id_index = Places(row_ids), places[schema.id_column]
    table = exact.read_table(text, ids, id_index, len(header.cells), fields, limits, problems)
    del text  # to spare memory
    positions = ids.checked(table.lines, schema.id_column, problems)
    problems.raise_any()
    columns = table.columns(fields)
    splits = _splits(columns.pop(usage) if usage else None, len(row_ids))
    _check_absent(table, fields, columns, schema, splits, problems)
    problems.raise_any()
    ordered = fast.aligned({**columns, "": splits}, positions)
    splits, weights = ordered.pop(""), ordered.pop(weight) if weight else None
    if weights is not None:
        _check_weights(weights, splits, problems)
        weights = np.where(splits == Usage.IGNORED, 0.0, weights)
    return Solution(schema, ordered, splits, row_ids.digest, weights, row_ids)


def _named(header: Header, names: Sequence[str]) -> str | None:
    return next((cell for cell in header.cells if cell.strip().casefold() in names), None)


def _has_weight(schema: Schema) -> bool:
    """Whether a column called weight is one to predict."""
    return any(name.casefold() in WEIGHT_NAMES for name in schema.header)


def _field(column: Column, index: int) -> Field:
    """A column whose cells may be empty, for now: they may in ignored rows."""
    if column.kind == "ranking":  # the solution has the relevant labels, as many as there are
        column = replace(column, kind="labels", most=None)
    field = Field.of(column, index)
    absent: float | list[int] = -1 if column.kind == "label" else np.nan

    def parse(text: str) -> float | list[int]:
        return field.parse(text) if text.strip() else absent

    return field if column.is_list else replace(field, parse=parse)


def _parse_weight(text: str) -> float:
    if not text.strip():
        return np.nan
    weight = parse_number(text)
    if weight < 0:
        raise CellError("negative_weight", f"{quoted(text)} is below 0; give {_EXPECTED_WEIGHT}.")
    return weight


def _parse_usage(text: str) -> float:
    try:
        return Usage[text.strip().upper()]
    except KeyError:
        says = f"{quoted(text)} is not {_EXPECTED_USAGE}."
        raise CellError("unknown_usage", says) from None


def _splits(usage: NDArray[np.int8] | None, rows: int) -> NDArray[np.int8]:
    return np.full(rows, Usage.PRIVATE, np.int8) if usage is None else usage


def _check_absent(
    table: Table,
    fields: Sequence[Field],
    columns: Mapping[str, Any],
    schema: Schema,
    splits: NDArray[np.int8],
    problems: Problems,
) -> None:
    """Notes rows that are scored and have no label, and a solution that scores no row."""
    sets = {column.name for column in schema.columns if column.kind == "labels"}
    for each in fields:
        if each.name not in columns or each.name in sets:  # a set of labels may have none
            continue
        absent = _is_absent(columns[each.name]) & (splits != Usage.IGNORED)
        for row in where(absent):
            problems.add(_absent(table.lines[row], each), alike=each.name)
    if not np.any(splits == Usage.PRIVATE):
        problems.add(
            Problem(
                "no_private_rows",
                "No row is Private, so there is nothing to hold out.",
                expected="at least one Private row",
            )
        )


def _is_absent(values: NDArray[Any] | Lists) -> NDArray[np.bool_]:
    return values.lengths == 0 if isinstance(values, Lists) else fast.is_absent(values)


def _check_weights(
    weights: NDArray[np.float64], splits: NDArray[np.int8], problems: Problems
) -> None:
    for usage in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL):
        rows = splits == usage
        if np.any(rows) and not np.any(weights[rows] > 0):
            name = usage.name.title()
            problems.fail(
                Problem(
                    "no_weight",
                    f"All {name} rows have the weight 0.",
                    expected="a row with a weight above 0",
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
        column.name: _stored(arrays, position, column, usage)
        for position, column in enumerate(schema.columns)
    }
    weights = arrays.pop("weights", None)
    if arrays or not isinstance(digest, str) or usage.dtype != np.int8 or not len(usage):
        raise Damaged("other arrays than expected")
    if usage.min() < 0 or usage.max() >= len(Usage):
        raise Damaged("an unknown usage")
    if weights is not None:
        _check_stored_weights(weights, usage)
    return Solution(schema, columns, usage, digest, weights)


def _stored(
    arrays: dict[str, NDArray[Any]], position: int, column: Column, usage: NDArray[Any]
) -> "NDArray[Any] | Lists":
    values = arrays.pop(f"column{position}")
    if not column.is_list:
        return _checked(values, column, usage)
    lists = Lists(arrays.pop(f"offsets{position}"), values)
    if lists.offsets.dtype != np.int64 or values.dtype != np.int32 or len(lists) != len(usage):
        raise Damaged("lists of another type or length")
    if lists.offsets[0] != 0 or lists.offsets[-1] != len(values) or np.any(lists.lengths < 0):
        raise Damaged("offsets that don't fit the codes")
    if values.min(initial=0) < 0 or values.max(initial=0) >= len(column.classes):
        raise Damaged("a label that the schema doesn't have")
    if lists.has_duplicates(len(column.classes)):
        raise Damaged("a label twice in a row")
    return lists


def _check_stored_weights(weights: NDArray[Any], usage: NDArray[Any]) -> None:
    if weights.dtype != np.float64 or weights.shape != usage.shape:
        raise Damaged("weights of another type or length")
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise Damaged("an impossible weight")


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
