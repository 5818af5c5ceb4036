"""Reads a table cell by cell, so that everything wrong with it can be named with its line.

Slower than `fast` and the authority: a file that `fast` doesn't take is read here, and either
found good after all or rejected.
"""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring.errors import Problem
from scoring.predictions.cells import CellError, Parser, parser_of
from scoring.predictions.limits import Limits
from scoring.predictions.lists import Lists
from scoring.predictions.problems import Problems, listed, plural, quoted, shortened
from scoring.predictions.row_ids import RowIds, Rows
from scoring.predictions.schema import Column
from scoring.predictions.tokens import rows

_IDS_SHOWN = 5


@dataclass(frozen=True)
class Field:
    """A column to read: its name, where it stands, what its cells mean.

    by_value: whether only equal wrong values count as alike (labels), or all of a kind (numbers).
    is_list: whether a cell holds several labels.
    """

    name: str
    index: int
    parse: Parser
    expected: str
    dtype: Any
    by_value: bool = False
    is_list: bool = False

    @classmethod
    def of(cls, column: Column, index: int) -> "Field":
        has_classes = bool(column.classes)
        dtype = np.int32 if has_classes else np.float64
        parse, is_list = parser_of(column), column.is_list
        return cls(column.name, index, parse, column.expected, dtype, has_classes, is_list)


class _Numbers:
    """One number a row."""

    absent: float = math.nan
    _type = "d"

    def __init__(self) -> None:
        self._values: array[Any] = array(self._type)
        self.append = self._values.append

    def array(self, dtype: Any) -> NDArray[Any]:
        return np.frombuffer(self._values, self._type).astype(dtype, copy=False)


class _Integers(_Numbers):
    """One code a row, in half of the memory."""

    absent = -1
    _type = "i"


class _Codes:
    """A list of codes a row."""

    absent = ()

    def __init__(self) -> None:
        self._codes, self._lengths = array("i"), array("i")

    def append(self, codes: Sequence[int]) -> None:
        self._codes.extend(codes)
        self._lengths.append(len(codes))

    def array(self, dtype: Any) -> Lists:
        lengths = np.frombuffer(self._lengths, np.int32)
        return Lists.of_lengths(lengths, np.frombuffer(self._codes, np.int32))


class Texts:
    """Many short texts in little memory."""

    def __init__(self) -> None:
        self._characters, self._ends = bytearray(), array("i", [0])

    def append(self, text: str) -> None:
        self._characters += text.encode()
        self._ends.append(len(self._characters))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, row: int) -> str:
        return self._characters[self._ends[row] : self._ends[row + 1]].decode()

    def array(self) -> pa.StringArray:
        """The same texts, without a copy: none can be added any more."""
        buffers = (pa.py_buffer(self._ends), pa.py_buffer(self._characters))
        return pa.StringArray.from_buffers(len(self), *buffers)


@dataclass
class Table:
    """The rows of a file, in its order. `values` has the values of each field.

    `ids_of_ragged_rows`: of rows that couldn't be read further, so that they aren't missed too.
    """

    ids: Texts = field(default_factory=Texts)
    lines: "array[int]" = field(default_factory=lambda: array("i"))
    values: "list[_Numbers | _Codes]" = field(default_factory=list)
    ids_of_ragged_rows: list[str] = field(default_factory=list)

    def columns(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Of each field its values: an array, or Lists."""
        return {
            each.name: values.array(each.dtype)
            for each, values in zip(fields, self.values, strict=True)
        }


def read_table(
    text: bytes,
    id_index: int,
    width: int,
    fields: Sequence[Field],
    limits: Limits,
    problems: Problems,
) -> Table:
    """Every row, noting what is wrong in `problems`; wrong cells are NaN or stay unread."""
    table = Table(values=[_values(each) for each in fields])
    checks: list[Any] = list(zip(fields, table.values, strict=True))
    for count, (line, cells) in enumerate(rows(text, problems), start=1):
        if count > limits.max_rows:
            problems.fail(_too_many_rows(line, limits))
        if len(cells) != width:
            problems.add(ragged(line, cells, width))
            table.ids_of_ragged_rows += cells[id_index : id_index + 1]
            continue
        table.ids.append(cells[id_index])
        table.lines.append(line)
        for each, values in checks:
            try:
                values.append(each.parse(cells[each.index]))
            except CellError as error:
                values.append(values.absent)
                _note(error, each, line, cells[each.index], limits, problems)
    if not table.ids and not table.ids_of_ragged_rows:
        problems.fail(Problem("no_rows", "The file has a header and no rows.", expected="rows"))
    return table


def _values(each: Field) -> "_Numbers | _Codes":
    if each.is_list:
        return _Codes()
    return _Numbers() if each.dtype == np.float64 else _Integers()


def align(table: Table, row_ids: RowIds, id_column: str, problems: Problems) -> Rows:
    """The row of each id. Notes empty, unknown, doubled and missing ids."""
    positions = row_ids.positions(table.ids.array())
    ragged = row_ids.positions(pa.array(table.ids_of_ragged_rows, pa.string()))
    _note_unknown(table, positions, row_ids, id_column, problems)
    seen = np.zeros(len(row_ids) + 1, np.bool_)  # the last one is for unknown ids, at -1
    seen[positions] = True
    known = len(positions) - np.count_nonzero(positions < 0)
    if known > np.count_nonzero(seen[:-1]):
        _note_doubled(table, positions, id_column, problems)
    seen[ragged] = True
    _note_missing(np.flatnonzero(~seen[:-1]), row_ids, id_column, problems)
    return positions


def check_unique(table: Table, id_column: str, problems: Problems) -> None:
    """Notes empty and doubled ids of a sample file, where no id is known yet."""
    first: dict[str, int] = {}
    for row, line in enumerate(table.lines):
        text = table.ids[row]
        if not text.strip():
            problems.add(_empty_id(line, id_column))
        elif (seen := first.setdefault(text, line)) != line:
            problems.add(_doubled(line, seen, text, id_column))


def _note(
    error: CellError, each: Field, line: int, text: str, limits: Limits, problems: Problems
) -> None:
    too_long = len(text) > limits.max_cell_length and not each.is_list
    code = "cell_too_long" if too_long else error.code
    value = text if error.value is None else error.value
    alike = (each.name, value[:100] if each.by_value else None)
    if problems.add_line(code, alike, line):
        return
    says = error.message
    if too_long:
        says = f"the cell has {len(text)} characters; {limits.max_cell_length} are the limit."
    problem = Problem(
        code,
        f"Line {line}, column `{each.name}`: {says}",
        line=line,
        column=each.name,
        value=shortened(value),
        expected=each.expected,
    )
    problems.add(problem, alike)


def _too_many_rows(line: int, limits: Limits) -> Problem:
    return Problem(
        "too_many_rows",
        f"Line {line}: there are more than {limits.max_rows} rows, which is the limit.",
        line=line,
        expected=f"at most {limits.max_rows} rows",
    )


def ragged(line: int, cells: list[str], width: int) -> Problem:
    """A row with more or fewer cells than the header."""
    hint = ""
    if len(cells) > width and all(cell.strip().isdigit() for cell in cells[-2:]):
        hint = " (a decimal comma? Write 0.5, not 0,5)"
    return Problem(
        "ragged_row",
        f"Line {line} has {plural(len(cells), 'cell')}, the header has {width}{hint}.",
        line=line,
        value=shortened(",".join(cells[:20])),
        expected=plural(width, "cell"),
    )


def _note_unknown(
    table: Table, positions: Rows, row_ids: RowIds, id_column: str, problems: Problems
) -> None:
    nearest: Callable[[str], str | None] | None = row_ids.nearest
    for row in np.flatnonzero(positions < 0):
        text, line = table.ids[int(row)], table.lines[row]
        if not text.strip():
            problems.add(_empty_id(line, id_column))
            continue
        meant = nearest(text) if nearest else None
        problems.add(_unknown(line, text, meant, id_column))
        nearest = None  # only the first is shown in full


def _empty_id(line: int, id_column: str) -> Problem:
    return Problem(
        "empty_id",
        f"Line {line}, column `{id_column}`: the id is empty.",
        line=line,
        column=id_column,
        value="",
        expected="an id",
    )


def _unknown(line: int, text: str, meant: str | None, id_column: str) -> Problem:
    hint = "."
    if meant is not None:
        spaces = " has spaces around it" if text.strip() == meant else ""
        hint = f"{' and' + spaces if spaces else ''}; did you mean {quoted(meant)}?"
    return Problem(
        "unknown_id",
        f"Line {line}, column `{id_column}`: {quoted(text)} is no id of the sample file{hint}",
        line=line,
        column=id_column,
        value=shortened(text),
        expected=meant or "an id of the sample file",
    )


def _note_doubled(table: Table, positions: Rows, id_column: str, problems: Problems) -> None:
    counts = np.bincount(positions[positions >= 0])
    first: dict[int, int] = {}
    known = np.flatnonzero(positions >= 0)
    for row in known[counts[positions[known]] > 1]:
        line = table.lines[row]
        seen = first.setdefault(int(positions[row]), line)
        if seen != line:
            problems.add(_doubled(line, seen, table.ids[row], id_column))


def _doubled(line: int, seen: int, text: str, id_column: str) -> Problem:
    return Problem(
        "duplicate_id",
        f"Line {line}, column `{id_column}`: the id {quoted(text)} is on line {seen} already.",
        line=line,
        column=id_column,
        value=shortened(text),
        expected="each id once",
    )


def _note_missing(
    missing: NDArray[np.int64], row_ids: RowIds, id_column: str, problems: Problems
) -> None:
    if not len(missing):
        return
    ids = [row_ids[int(row)] for row in missing[:_IDS_SHOWN]]
    more = ", …" if len(missing) > len(ids) else ""
    verb = "is" if len(missing) == 1 else "are"
    problems.add(
        Problem(
            "missing_id",
            f"{plural(len(missing), 'id')} of the sample file's {len(row_ids)} {verb} missing: "
            f"{listed(ids)}{more}.",
            column=id_column,
            value=shortened(ids[0]),
            expected="every id of the sample file",
        ),
        count=len(missing),
    )
