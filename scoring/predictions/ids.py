"""The ids of a file: the row of each, and which are empty, unknown, doubled or missing."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoring.errors import Problem
from scoring.predictions.problems import Problems, shortened
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
        """Note that from this row on lines are ahead of rows; return how far."""
        self._rows.append(row)
        self._ahead.append(line - row)
        return line - row

    def __getitem__(self, row: int) -> int:
        return row + self._ahead[bisect_right(self._rows, row) - 1]


class Texts:
    """Ids as they are: those of a sample file, where none is known yet; taken up in parts."""

    part = _PART

    def __init__(self) -> None:
        self._parts: list[pa.StringArray] = []
        self._blank = array("i")

    def take(self, ids: list[str]) -> None:
        first = sum(map(len, self._parts))
        self._blank.extend(row for row, text in enumerate(ids, first) if not text.strip())
        self._parts.append(pa.array(ids, pa.string()))

    def excuse(self, ids: list[str]) -> None:
        """Pass over the ids of rows that couldn't be read further: none is missed here."""

    def check(self, lines: Lines, id_column: str, problems: Problems) -> pa.StringArray:
        """Return all of them, and note empty and doubled ones."""
        texts = pa.concat_arrays(self._parts)
        self._parts.clear()
        for row in self._blank:
            problems.add(Problem("empty_id", line=lines[row], column=id_column, value=""))
        for row in where(repeats(texts)):
            line, text = lines[row], texts[row].as_py()
            if text.strip() and not problems.add_line("duplicate_id", None, line):
                first = lines[pc.index(texts, text).as_py()]
                problems.add(_doubled(line, first, text, id_column))
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
        """Don't miss the ids of rows that couldn't be read further."""
        rows = self._row_ids.positions(pa.array(ids, pa.string()))
        self._excused[rows[rows >= 0]] = True

    def check(self, lines: Lines, id_column: str, problems: Problems) -> Rows:
        """Return all rows, and note empty, unknown, doubled and missing ids."""
        rows = np.concatenate(self._rows)
        self._rows.clear()
        self._note_unknown(rows, lines, id_column, problems)
        # Where each id is in the file for the first time; behind its end if nowhere.
        firsts = np.full(len(self._row_ids), len(rows), np.int32)
        for numbers, part in _parts(rows):
            np.minimum.at(firsts, part, numbers)
        for numbers, part in _parts(rows):
            again = firsts[part] < numbers
            for row, place in zip(numbers[again].tolist(), part[again].tolist(), strict=True):
                if not problems.add_line("duplicate_id", None, lines[row]):
                    first = lines[int(firsts[place])]
                    problems.add(_doubled(lines[row], first, self._row_ids[place], id_column))
        missing = (firsts == len(rows)) & ~self._excused
        count = int(np.count_nonzero(missing))
        ids: list[str | None] = [
            shortened(self._row_ids[row]) for row in islice(where(missing), _IDS_SHOWN)
        ]
        if ids:
            shown = ids if count == len(ids) else [*ids, None]
            fields = {"value": ids[0], "count": count, "rows": len(self._row_ids), "ids": shown}
            problems.add(Problem("missing_id", column=id_column, **fields), count=count)
        return rows

    def _note_unknown(self, rows: Rows, lines: Lines, id_column: str, problems: Problems) -> None:
        for row in where(rows < 0):
            line, text = lines[row], self._unknown
            if rows[row] == _EMPTY:
                problems.add(Problem("empty_id", line=line, column=id_column, value=""))
            elif text and not problems.add_line("unknown_id", None, line):
                meant = self._row_ids.nearest(text)
                fields = {"value": shortened(text), "meant": meant and shortened(meant)}
                hint = "id_spaces" if text.strip() == meant else None
                problems.add(
                    Problem("unknown_id", line=line, column=id_column, hint=hint, **fields)
                )


def _parts(rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield the numbers of known ids in the file, and their rows, a part at a time."""
    for start in range(0, len(rows), PART):
        part = rows[start : start + PART]
        known = np.flatnonzero(part >= 0)
        yield (start + known).astype(np.int32), part[known]


def _doubled(line: int, first: int, text: str, id_column: str) -> Problem:
    value = shortened(text)
    return Problem("duplicate_id", line=line, column=id_column, value=value, first=first)
