"""The organizer's solution: the labels of every row and which split it is in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, Problem, SolutionError
from scoring.measurement import Secret, effective_rows
from scoring.predictions import fast
from scoring.predictions.cells import CellError, parse_number
from scoring.predictions.exact import Field, Table, read_table
from scoring.predictions.header import match_header
from scoring.predictions.ids import Places
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.lists import Lists
from scoring.predictions.packing import Damaged, pack, unpack
from scoring.predictions.problems import Problems, shortened
from scoring.predictions.repeats import where
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import (
    GROUP_NAMES,
    MAX_RUNS,
    USAGE_NAMES,
    WEIGHT_NAMES,
    Column,
    Schema,
)
from scoring.predictions.source import Source, read_text
from scoring.predictions.tokens import Header, read_header

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
class Solution(Secret):
    """Labels in the order of the row ids, encoded like predictions; arrays are read-only.

    columns: label -> int32 codes; probability -> what happened (0 or 1); number -> float64; labels
        -> Lists; ranking -> Lists of the relevant labels; text -> Lists of the accepted answers.
        The labels of ignored rows may be absent: code -1, NaN, an empty list.
    usage: int8, of each row a `Usage`.
    row_ids_digest: the digest of the row ids that it is aligned with.
    weights: float64, finite, not negative, not all 0 in a split, 0 in ignored rows; None if none.
    groups: int64, of each row the number of its group, -1 in ignored rows without one; None if
        there are none. No group has rows in two splits; ignored rows may be of any.
    row_ids: the row ids themselves; lines: of each row that in the file, from 1. Both as long as it
        isn't stored.

    It shows no labels, and can't be pickled or copied; `to_bytes` is for the vault alone.
    """

    schema: Schema
    columns: dict[str, Any]
    usage: NDArray[np.int8]
    row_ids_digest: str
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    row_ids: RowIds | None = None
    lines: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        for values in (*self.columns.values(), self.usage, self.weights, self.groups):
            if values is not None:
                values.setflags(write=False)

    def counts(self) -> Counts:
        return Counts(*(int(n) for n in np.bincount(self.usage, minlength=len(Usage))))

    def effective_rows(self, rows: Usage | NDArray[np.bool_]) -> int:
        """Return how many plain rows a split, or some rows of it, count as.

        Fewer than they are where they have weights or come in groups.
        """
        chosen = self.usage == rows if isinstance(rows, Usage) else rows
        if (weights := self.weights_of(chosen)) is None or not len(weights):
            return int(np.count_nonzero(chosen))
        return effective_rows(weights, None if self.groups is None else self.groups[chosen])

    def weights_of(self, rows: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Return how much some rows count; None where each counts as one."""
        if self.weights is not None:
            return self.weights[rows]
        return None if self.groups is None else np.ones(np.count_nonzero(rows))

    def to_bytes(self) -> bytes:
        """Return an npz without pickles: `from_bytes` gives the same solution back."""
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
        optional = {"weights": self.weights, "groups": self.groups}
        return pack(arrays | {name: each for name, each in optional.items() if each is not None})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Solution":
        """Invert `to_bytes`, strictly. Raise SolutionError for anything else."""
        try:
            return _unpack(data)
        except (Damaged, ParameterError, ValueError, KeyError, TypeError):
            # Nothing of the content may be seen through the error, not as its cause either.
            problem = Problem("solution_damaged")
        raise SolutionError([problem])


def read_solution(
    source: Source, schema: Schema, row_ids: RowIds, limits: Limits = DEFAULT_LIMITS
) -> Solution:
    """Parse, validate and align a solution file: the schema's columns and `Usage`.

    The split is in a column `Usage` (or `split`), in any case, and says Public, Private, Final or
    Ignored, in any case; without one all rows are private. A column `Weight` (or `sample_weight`)
    that isn't to be predicted has the weights of the rows, and `Group` (or `groups`) names what
    rows depend on each other in. Raise SolutionError.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    header = read_header(text, problems)
    to_predict = {name.casefold() for name in schema.header}
    usage = _named(header, USAGE_NAMES)
    weight = None if to_predict & {*WEIGHT_NAMES} else _named(header, WEIGHT_NAMES)
    group = None if to_predict & {*GROUP_NAMES} else _named(header, GROUP_NAMES)
    names = dict[str, int]()
    others = [
        Field(name, parse, {"kind": kind}, code, by_value=kind == "usage")
        for name, kind, parse, code in (
            (usage, "usage", _parse_usage, "b"),
            (weight, "weight", _parse_weight, "d"),
            (group, "group", partial(_parse_group, names), "i"),
        )
        if name is not None
    ]
    match_header(header, (*schema.header, *(each.name for each in others)), limits, problems)
    fields = [*map(_field, schema.columns), *others]
    table = read_table(text, header, Places(row_ids), schema.id_column, fields, limits, problems)
    del text  # to spare memory
    columns = table.columns
    splits = np.full(len(row_ids), Usage.PRIVATE, np.int8) if usage is None else columns.pop(usage)
    _check_absent(table, fields, schema, splits, problems)
    numbers = np.fromiter(map(table.lines.__getitem__, range(len(splits))), np.int32)
    ordered = fast.aligned({**columns, " usage": splits, " lines": numbers}, table.ids)
    splits, lines = ordered.pop(" usage"), ordered.pop(" lines")
    weights, groups = (None if each is None else ordered.pop(each) for each in (weight, group))
    if weights is not None:
        check_weights(weights, splits, problems)
        weights = np.where(splits == Usage.IGNORED, 0.0, weights)
    if groups is not None:
        check_whole(groups, splits, lines, list(names), problems)
        groups = _numbered(groups)
    return Solution(schema, ordered, splits, row_ids.digest, weights, groups, row_ids, lines)


def find_split_group(
    groups: NDArray[Any], usage: NDArray[np.int8], order: NDArray[Any]
) -> tuple[int, int] | None:
    """Return the first row whose group has a row in another split before it, and the group's first.

    order: of each row, such as its line in the file. Ignored rows may be of any group. None where
    all groups are whole. Public rows would tell of Private ones of their group, so that no
    guarantee would hold (theory.md 10.7).
    """
    rows = np.flatnonzero(usage != Usage.IGNORED)
    rows = rows[np.argsort(order[rows], kind="stable")]
    _, firsts, numbers = np.unique(groups[rows], return_index=True, return_inverse=True)
    first_of_group = rows[firsts[numbers]]
    torn = np.flatnonzero(usage[rows] != usage[first_of_group])
    return (int(rows[torn[0]]), int(first_of_group[torn[0]])) if len(torn) else None


def check_whole(
    groups: NDArray[Any],
    splits: NDArray[np.int8],
    lines: NDArray[np.int32],
    names: Sequence[str],
    problems: Problems,
) -> None:
    """Fail with the first line whose group has rows in another split above it."""
    if (torn := find_split_group(groups, splits, lines)) is None:
        return
    row, first = torn
    usage, other = (Usage(splits[at]).name.title() for at in torn)
    facts = {"usage": usage, "other": other, "first": int(lines[first])}
    facts |= {"column": "Group", "value": shortened(names[groups[row]])}
    problems.fail(Problem("group_split", line=int(lines[row]), **facts))


def _named(header: Header, names: Sequence[str]) -> str | None:
    return next((cell for cell in header.cells if cell.strip().casefold() in names), None)


def _field(column: Column) -> Field:
    """Return a column whose cells may be empty, for now: they may in ignored rows."""
    if column.kind == "ranking":  # the solution has the relevant labels, as many as there are
        column = replace(column, kind="labels", most=None)
    if column.kind == "text":  # and all accepted answers
        column = replace(column, most=MAX_RUNS)
    field = Field.of(column)

    def parse(text: str) -> Any:
        return field.parse(text) if text.strip() else field.absent

    return field if column.is_list else replace(field, parse=parse)


def _parse_weight(text: str) -> float:
    weight = parse_number(text) if text.strip() else np.nan
    if weight < 0:
        raise CellError("negative_weight")
    return weight


def _parse_group(names: dict[str, int], text: str) -> int:
    """Return the number of a group, in `names` from now on; -1 where there is none."""
    name = text.strip()
    return names.setdefault(name, len(names)) if name else -1


def _parse_usage(text: str) -> float:
    try:
        return Usage[text.strip().upper()]
    except KeyError:
        raise CellError("unknown_usage") from None


def check_weights(
    weights: NDArray[np.float64], splits: NDArray[np.int8], problems: Problems
) -> None:
    """Fail with the first set whose rows all weigh nothing."""
    for split in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL):
        rows = splits == split
        if np.any(rows) and not np.any(weights[rows] > 0):
            problems.fail(Problem("no_weight", usage=split.name.title()))


def _numbered(groups: NDArray[Any]) -> NDArray[np.int64]:
    """Return groups by the order of their first rows: equal solutions have equal bytes."""
    _, firsts, places = np.unique(groups, return_index=True, return_inverse=True)
    ranks: NDArray[np.int64] = np.argsort(np.argsort(firsts))[places]
    return np.where(groups < 0, -1, ranks)


def _check_absent(
    table: Table,
    fields: Sequence[Field],
    schema: Schema,
    splits: NDArray[np.int8],
    problems: Problems,
) -> None:
    """Fail with the rows that are scored and have no label, or where no row is held out."""
    sets = {column.name for column in schema.columns if column.kind == "labels"}
    for each in fields:
        values = table.columns.get(each.name)
        if values is None or each.name in sets:  # a set of labels may have none
            continue
        absent = values.lengths == 0 if isinstance(values, Lists) else fast.is_absent(values)
        for row in where(absent & (splits != Usage.IGNORED)):
            facts = {"line": table.lines[row], "column": each.name, "value": "", **each.facts}
            problems.add(Problem("empty_cell", variant="scored", **facts), alike=each.name)
    if not np.any(splits == Usage.PRIVATE):
        problems.add(Problem("no_private_rows"))
    problems.raise_any()


def _unpack(data: bytes) -> Solution:
    arrays = unpack(data)
    meta = json.loads(arrays.pop("meta").tobytes())
    if set(meta) != {"format", "schema", "row_ids"} or meta["format"] != _FORMAT:
        raise Damaged("another format")
    schema, digest, usage = Schema.from_json(meta["schema"]), meta["row_ids"], arrays.pop("usage")
    columns = {
        column.name: _stored(arrays, position, column, usage)
        for position, column in enumerate(schema.columns)
    }
    weights, groups = arrays.pop("weights", None), arrays.pop("groups", None)
    if arrays or not isinstance(digest, str) or usage.dtype != np.int8 or not len(usage):
        raise Damaged("other arrays than expected")
    if usage.min() < 0 or usage.max() >= len(Usage):
        raise Damaged("an unknown usage")
    if weights is not None:
        if weights.dtype != np.float64 or weights.shape != usage.shape:
            raise Damaged("weights of another type or length")
        if not np.all(np.isfinite(weights) & (weights >= 0)):
            raise Damaged("an impossible weight")
    if groups is not None:
        _check_groups(groups, usage)
    return Solution(schema, columns, usage, digest, weights, groups)


def _check_groups(groups: NDArray[Any], usage: NDArray[np.int8]) -> None:
    if groups.dtype != np.int64 or groups.shape != usage.shape or groups.min() < -1:
        raise Damaged("groups of another type or length")
    if np.any(groups[usage != Usage.IGNORED] < 0):
        raise Damaged("a scored row without a group")
    if find_split_group(groups, usage, np.arange(len(usage))) is not None:
        raise Damaged("a group in several splits")


def _stored(
    arrays: dict[str, NDArray[Any]], position: int, column: Column, usage: NDArray[Any]
) -> "NDArray[Any] | Lists":
    values = arrays.pop(f"column{position}")
    if column.is_plain:
        return _checked(values, column, usage)
    lists = Lists(arrays.pop(f"offsets{position}"), values)
    dtype = np.uint8 if column.kind == "text" else np.int32
    if lists.offsets.dtype != np.int64 or values.dtype != dtype or len(lists) != len(usage):
        raise Damaged("lists of another type or length")
    if lists.offsets[0] != 0 or lists.offsets[-1] != len(values) or np.any(lists.lengths < 0):
        raise Damaged("offsets that don't fit the codes")
    if column.kind == "text":
        return lists
    if values.min(initial=0) < 0 or values.max(initial=0) >= len(column.classes):
        raise Damaged("a label that the schema doesn't have")
    if lists.ascending(len(column.classes)) is None:
        raise Damaged("a label twice in a row")
    return lists


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
