"""Reads a table cell by cell, so that everything wrong with it can be named with its line.

Slower than `fast` and the authority: a file that `fast` doesn't take is read here, and either
found good after all or rejected.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import Problem
from scoring.predictions.cells import CellError, Parser, parser_of
from scoring.predictions.ids import Ids, Lines
from scoring.predictions.limits import Limits
from scoring.predictions.lists import Lists
from scoring.predictions.problems import Problems, plural, shortened
from scoring.predictions.schema import Column
from scoring.predictions.tokens import rows


@dataclass(frozen=True)
class Field:
    """A column to read: its name, where it stands, what its cells mean.

    dtype: of the values; None if they aren't wanted.
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

    @classmethod
    def only_checked(cls, column: Column, index: int) -> "Field":
        """Of a column whose values aren't wanted."""
        return replace(cls.of(column, index), dtype=None)


class _Numbers:
    """Numbers that come one by one. They are kept in blocks: an array that grows leaves holes."""

    def __init__(self, dtype: Any) -> None:
        self.absent = math.nan if dtype == np.float64 else -1
        self._blocks: list[NDArray[Any]] = []
        self._last: array[Any] = array(np.dtype(dtype).char)
        self.append, self.extend = self._last.append, self._last.extend

    def end_block(self) -> None:
        self._blocks.append(np.array(self._last))
        del self._last[:]

    def array(self) -> NDArray[Any]:
        """All of them, once: they aren't kept here any more."""
        self.end_block()
        whole = np.concatenate(self._blocks)
        self._blocks.clear()
        return whole


class _Codes:
    """A list of codes a row."""

    absent = ()

    def __init__(self) -> None:
        self._codes, self._lengths = _Numbers(np.int32), _Numbers(np.int32)

    def append(self, codes: Sequence[int]) -> None:
        self._codes.extend(codes)
        self._lengths.append(len(codes))

    def end_block(self) -> None:
        self._codes.end_block()
        self._lengths.end_block()

    def array(self) -> Lists:
        return Lists.of_lengths(self._lengths.array(), self._codes.array())


class _Unwanted:
    """Nothing."""

    absent = None

    def append(self, value: Any) -> None:
        pass

    def end_block(self) -> None:
        pass

    def array(self) -> None:
        pass


@dataclass
class Table:
    """The rows of a file, in its order. `values` has the values of each field."""

    lines: Lines = field(default_factory=Lines)
    values: "list[_Numbers | _Codes | _Unwanted]" = field(default_factory=list)

    def columns(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Of each field its values: an array, or Lists."""
        return {each.name: values.array() for each, values in zip(fields, self.values, strict=True)}


def read_table(
    text: bytes,
    ids: Ids,
    id_index: int,
    width: int,
    fields: Sequence[Field],
    limits: Limits,
    problems: Problems,
) -> Table:
    """Every row, noting what is wrong in `problems`; wrong cells are NaN or stay unread.

    `ids` takes the ids up. Rows that can't be read further aren't in the table.
    """
    table = Table(values=[_values(each) for each in fields])
    checks: list[Any] = list(zip(fields, table.values, strict=True))
    lines, part, ahead = table.lines, ids.part, 0  # the first row is on line 2 at least
    waiting: list[str] = []
    even = _even_rows(text, ids, id_index, width, limits, problems)
    for row, (line, cells) in enumerate(even):
        if line - row != ahead:
            ahead = lines.jump(row, line)
        waiting.append(cells[id_index])
        if len(waiting) == part:
            ids.take(waiting)
            waiting = []
            for values in table.values:
                values.end_block()
        for each, values in checks:
            try:
                values.append(each.parse(cells[each.index]))
            except CellError as error:
                values.append(values.absent)
                _note(error, each, line, cells[each.index], limits, problems)
    ids.take(waiting)
    return table


def _even_rows(
    text: bytes, ids: Ids, id_index: int, width: int, limits: Limits, problems: Problems
) -> Iterator[tuple[int, list[str]]]:
    """The rows with as many cells as the header, and their lines. Notes the others."""
    count = 0
    excused: list[str] = []
    for count, (line, cells) in enumerate(rows(text, problems), start=1):
        if count > limits.max_rows:
            problems.fail(_too_many_rows(line, limits))
        if len(cells) == width:
            yield line, cells
            continue
        problems.add(ragged(line, cells, width))
        excused += cells[id_index : id_index + 1]
        if len(excused) == ids.part:
            ids.excuse(excused)
            excused = []
    ids.excuse(excused)
    if not count:
        problems.fail(Problem("no_rows", "The file has a header and no rows.", expected="rows"))


def _values(each: Field) -> "_Numbers | _Codes | _Unwanted":
    if each.dtype is None:
        return _Unwanted()
    return _Codes() if each.is_list else _Numbers(each.dtype)


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
