"""The ids of a file: the row of each, and which are empty, unknown, doubled or missing."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.errors import Problem
from scoring.predictions.problems import Problems, listed, plural, quoted, shortened
from scoring.predictions.repeats import PART, repeats, where
from scoring.predictions.row_ids import RowIds, Rows

_IDS_SHOWN = 5
_PART = 1 << 13
_LARGE_PART = 1 << 20
_EMPTY = -2  # the row of an empty id; that of an unknown one is -1


class Lines:
    """The line of each row of a file: noted only where it isn't the one after the last row's."""

    def __init__(self) -> None:
        self._rows, self._ahead = array("i"), array("i")

    def jump(self, row: int, line: int) -> int:
        """From this row on lines are so far ahead of rows; gives how far."""
        self._rows.append(row)
        self._ahead.append(line - row)
        return line - row

    def __getitem__(self, row: int) -> int:
        return row + self._ahead[bisect_right(self._rows, row) - 1]


class Ids(Protocol):
    """Takes up the ids of a file, `part` at a time, in its order."""

    part: int

    def take(self, ids: list[str]) -> None:
        """The next ids."""

    def excuse(self, ids: list[str]) -> None:
        """Ids of rows that couldn't be read further."""


class Texts:
    """Ids as they are: those of a sample file, where none is known yet."""

    part = _PART

    def __init__(self) -> None:
        self._parts: list[pa.StringArray] = []
        self._blank = array("i")

    def take(self, ids: list[str]) -> None:
        first = sum(map(len, self._parts))
        self._blank.extend(row for row, text in enumerate(ids, first) if not text.strip())
        self._parts.append(pa.array(ids, pa.string()))

    def excuse(self, ids: list[str]) -> None:
        pass

    def checked(self, lines: Lines, id_column: str, problems: Problems) -> pa.StringArray:
        """All of them. Notes empty and doubled ones."""
        texts = pa.concat_arrays(self._parts)
        self._parts.clear()
        for row in self._blank:
            problems.add(_empty_id(lines[row], id_column))
        for row in where(repeats(texts)):
            line, text = lines[row], texts[row].as_py()
            if text.strip() and not problems.add_line("duplicate_id", None, line):
                first = pc.index(texts, text).as_py()
                problems.add(_doubled(line, lines[first], text, id_column))
        return texts


class Places:
    """The rows that ids belong to: all that is kept of those of predictions and solutions."""

    def __init__(self, row_ids: RowIds) -> None:
        self.part = _PART if row_ids.has_tables else _LARGE_PART
        self._row_ids = row_ids
        self._rows: list[Rows] = []
        self._unknown: str | None = None
        self._excused = np.zeros(len(row_ids), np.bool_)

    def take(self, ids: list[str]) -> None:
        rows = np.array(self._row_ids.positions(pa.array(ids, pa.string())), np.int32)
        for place in np.flatnonzero(rows < 0).tolist():
            if not ids[place].strip():
                rows[place] = _EMPTY
            elif self._unknown is None:
                self._unknown = ids[place]
        self._rows.append(rows)

    def excuse(self, ids: list[str]) -> None:
        """So that they aren't missed too."""
        rows = self._row_ids.positions(pa.array(ids, pa.string()))
        self._excused[rows[rows >= 0]] = True

    def checked(self, lines: Lines, id_column: str, problems: Problems) -> Rows:
        """All of them. Notes empty, unknown, doubled and missing ids."""
        rows = np.concatenate(self._rows)
        self._rows.clear()
        self._note_unknown(rows, lines, id_column, problems)
        first = self._first(rows)
        self._note_doubled(rows, first, lines, id_column, problems)
        missing = (first == len(rows)) & ~self._excused
        _note_missing(missing, self._row_ids, id_column, problems)
        return rows

    def _first(self, rows: Rows) -> Rows:
        """Where each id is in the file for the first time; behind its end if nowhere."""
        first = np.full(len(self._row_ids), len(rows), np.int32)
        for numbers, part in _parts(rows):
            np.minimum.at(first, part, numbers)
        return first

    def _note_unknown(self, rows: Rows, lines: Lines, id_column: str, problems: Problems) -> None:
        for row in where(rows < 0):
            line = lines[row]
            if rows[row] == _EMPTY:
                problems.add(_empty_id(line, id_column))
            elif self._unknown and not problems.add_line("unknown_id", None, line):
                meant = self._row_ids.nearest(self._unknown)
                problems.add(_unknown(line, self._unknown, meant, id_column))

    def _note_doubled(
        self, rows: Rows, first: Rows, lines: Lines, id_column: str, problems: Problems
    ) -> None:
        for numbers, part in _parts(rows):
            again = first[part] < numbers
            for row, place in zip(numbers[again].tolist(), part[again].tolist(), strict=True):
                line = lines[row]
                if not problems.add_line("duplicate_id", None, line):
                    text, seen = self._row_ids[place], lines[int(first[place])]
                    problems.add(_doubled(line, seen, text, id_column))


def _parts(rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """The numbers of known ids in the file, and their rows, a part at a time."""
    for start in range(0, len(rows), PART):
        part = rows[start : start + PART]
        known = np.flatnonzero(part >= 0)
        yield (start + known).astype(np.int32), part[known]


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
    missing: NDArray[np.bool_], row_ids: RowIds, id_column: str, problems: Problems
) -> None:
    count = int(np.count_nonzero(missing))
    if not count:
        return
    ids = [row_ids[row] for row in islice(where(missing), _IDS_SHOWN)]
    more = ", …" if count > len(ids) else ""
    verb = "is" if count == 1 else "are"
    problems.add(
        Problem(
            "missing_id",
            f"{plural(count, 'id')} of the sample file's {len(row_ids)} {verb} missing: "
            f"{listed(ids)}{more}.",
            column=id_column,
            value=shortened(ids[0]),
            expected="every id of the sample file",
        ),
        count=count,
    )
