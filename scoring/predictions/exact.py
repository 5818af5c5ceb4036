"""Reads a table cell by cell, so that everything wrong with it can be named with its line.

Slower than `fast` and the authority: a file that `fast` doesn't take is read here, and either
found good after all or rejected.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from scoring.errors import Problem
from scoring.predictions.cells import CellError, Parser, parser_of
from scoring.predictions.ids import Lines, Places, Texts
from scoring.predictions.limits import Limits
from scoring.predictions.lists import Lists
from scoring.predictions.problems import Problems, shortened
from scoring.predictions.schema import Column
from scoring.predictions.source import check_utf8
from scoring.predictions.tokens import Header, records


@dataclass(frozen=True)
class Field:
    """A column to read: its name, what its cells mean, the type code of its values.

    facts: what is expected of a cell, as fields of a problem. by_value: whether only equal wrong
    values count as alike (labels), or all of a kind (numbers). is_list: whether a cell holds
    several labels or a text. is_kept: whether its values are wanted.
    """

    name: str
    parse: Parser
    facts: Mapping[str, Any]
    code: str
    by_value: bool = False
    is_list: bool = False
    is_kept: bool = True

    @property
    def absent(self) -> Any:
        return () if self.is_list else math.nan if self.code == "d" else -1

    @classmethod
    def of(cls, column: Column, *, is_kept: bool = True) -> "Field":
        by_value = bool(column.classes)
        code = "B" if column.kind == "text" else "i" if by_value else "d"
        facts, is_list = column.facts, not column.is_plain
        return cls(column.name, parser_of(column), facts, code, by_value, is_list, is_kept)


@dataclass(frozen=True)
class Table:
    """The rows of a file, in its order: their lines, their checked ids, the values of each field.

    Wrong cells are NaN, -1 or an empty list.
    """

    lines: Lines
    ids: Any
    columns: dict[str, Any]


def read_table(
    text: bytes,
    header: Header,
    ids: "Places | Texts",
    id_column: str,
    fields: Sequence[Field],
    limits: Limits,
    problems: Problems,
    rows: Iterable[tuple[int, list[str]]] | None = None,
) -> Table:
    """Read every row, and fail with what is wrong. `ids` takes the ids up.

    rows: lines and cells, where they are not those of the text.
    """
    check_utf8(text, problems)
    lines, ahead, id_index = Lines(), 0, header.cells.index(id_column)
    kept = [(each, header.cells.index(each.name), array(each.code), array("i")) for each in fields]
    waiting: list[str] = []
    rows = rows or even_rows(text, header, limits, problems, ids, id_index)
    for row, (line, cells) in enumerate(rows):
        if line - row != ahead:  # the first row is on line 2 at least
            ahead = lines.jump(row, line)
        waiting.append(cells[id_index])
        if len(waiting) == ids.part:
            ids.take(waiting)
            waiting = []
        for each, index, values, lengths in kept:
            try:
                value: Any = each.parse(cells[index])
            except CellError as error:
                _note(error, each, line, cells[index], limits, problems)
                value = each.absent
            if each.is_list and each.is_kept:
                values.extend(value)
                lengths.append(len(value))
            elif each.is_kept:
                values.append(value)
    ids.take(waiting)
    checked = ids.check(lines, id_column, problems)
    problems.raise_any()
    columns = {
        each.name: Lists.of_lengths(np.asarray(lengths), np.asarray(values))
        if each.is_list
        else np.asarray(values)
        for each, _, values, lengths in kept
    }
    return Table(lines, checked, columns)


def even_rows(
    text: bytes,
    header: Header,
    limits: Limits,
    problems: Problems,
    ids: "Places | Texts | None" = None,
    id_index: int = 0,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with as many cells as the header, and their lines. Note the others."""
    width = len(header.cells)
    excused: list[str] = []
    count = 0
    for count, (line, cells) in enumerate(islice(records(text, problems), 1, None), start=1):
        if count > limits.max_rows:
            problems.fail(Problem("too_many_rows", line=line, limit=limits.max_rows))
        if len(cells) == width:
            yield line, cells
            continue
        has_comma = len(cells) > width and all(cell.strip().isdigit() for cell in cells[-2:])
        value, hint = shortened(",".join(cells[:20])), "comma" if has_comma else None
        fields = {"value": value, "hint": hint, "count": len(cells), "width": width}
        problems.add(Problem("ragged_row", line=line, **fields))
        excused += cells[id_index : id_index + 1]
        if ids is not None and len(excused) == ids.part:
            ids.excuse(excused)
            excused = []
    if ids is not None:
        ids.excuse(excused)
        if not count:
            problems.fail(Problem("no_rows"))


def _note(
    error: CellError, each: Field, line: int, text: str, limits: Limits, problems: Problems
) -> None:
    code, fields = error.code, error.fields
    value = text if error.part is None else error.part
    if len(text) > limits.max_cell_length and not each.is_list:
        code = "cell_too_long"
        fields = {"length": len(text), "limit": limits.max_cell_length}
    alike = (each.name, error.alike or value[:100] if each.by_value else None)
    if not problems.add_line(code, alike, line):
        facts = {"column": each.name, "value": shortened(value), **each.facts, **fields}
        problems.add(Problem(code, line=line, **facts), alike)
