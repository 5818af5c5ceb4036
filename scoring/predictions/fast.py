"""Reads a table that is as it should be, with pyarrow, at the speed of its file.

Whatever is unusual gives None and is left to `exact`. What is taken here, `exact` would take too,
with the same values; the tests hold them against each other.

A file is read a stretch of lines at a time, in as many threads as there are processors. Each finds
the rows of its ids and puts its values where they belong, so that no table of the whole file is
ever in memory, only its text and the arrays that are wanted.
"""

import codecs
import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from scoring.predictions.lists import Lists, Place
from scoring.predictions.row_ids import RowIds, one_array
from scoring.predictions.schema import Column, Schema
from scoring.threads import thread_count

Columns = dict[str, Any]

_STRETCH, _LONGEST = 1 << 19, 1 << 21  # bytes
_SHARE = 8  # of the text is under way in all threads together
_PART = 1 << 20
_ROWS = 1 << 16
_BLANK_LINES = 1000  # of more, `exact` judges
_LINE_ENDS = (ord("\n"), ord("\r"))
_QUOTE = ord('"')
_LARGEST = float(np.finfo(np.float64).max)
_DELIMITERS = np.zeros(256, dtype=np.bool_)
_DELIMITERS[[ord(","), ord("\r"), ord("\n")]] = True


def read_aligned(
    text: bytes, start: int, names: Sequence[str], schema: Schema, row_ids: RowIds
) -> Columns | None:
    """Return the columns in the order of `row_ids`. `names`: the file's; `start`: of its rows."""
    file = _File.of(text, names, schema, integer_ids=row_ids.are_integers)
    return None if file is None else _Filling(file, schema, row_ids).columns(start)


class _Stretch(NamedTuple):
    """Whole lines: where they start and end, in bytes, and which row the first probably is."""

    start: int
    end: int
    row: int


@dataclass(frozen=True)
class _File:
    """A text that pyarrow and `exact` read alike, as far as quotes go."""

    text: bytes
    names: list[str]
    has_quotes: bool
    types: Mapping[str, pa.DataType]
    id_column: str
    integer_ids: bool

    @classmethod
    def of(
        cls, text: bytes, names: Sequence[str], schema: Schema, *, integer_ids: bool
    ) -> "_File | None":
        has_quotes = b'"' in text
        if any(each.kind == "text" for each in schema.columns):
            return None
        if has_quotes and not _quotes_are_plain(text):
            return None
        types = {
            each.name: pa.string() if each.classes else pa.float64() for each in schema.columns
        }
        types |= {each.name: pa.binary(1) for each in schema.columns if _has_codes_of_bytes(each)}
        return cls(text, list(names), has_quotes, types, schema.id_column, integer_ids)

    def line_ends(self, start: int, end: int) -> int:
        """Return the number of LFs or of CRs from `start` to `end`, whichever there are more of."""
        characters = np.frombuffer(self.text, np.uint8)[start:end]
        parts = [characters[at : at + _PART] for at in range(0, len(characters), _PART)]
        ends = _LINE_ENDS if self._has(b"\r", start, end) else _LINE_ENDS[:1]
        return max(sum(int(np.count_nonzero(part == end)) for part in parts) for end in ends)

    def read(self, start: int, end: int, *, threads: bool = False) -> pa.Table | None:
        """Return the rows that are written from `start` to `end`; ids are texts or int64."""
        if self.text.startswith(codecs.BOM_UTF8, start):  # pyarrow would pass over it
            return None
        # Only decimal numbers are ids: 0x1F is one for pyarrow.
        is_plain = not (self._has(b"x", start, end) or self._has(b"X", start, end))
        id_type = pa.int64() if self.integer_ids and is_plain else pa.string()
        try:
            return csv.read_csv(
                pa.BufferReader(pa.py_buffer(self.text).slice(start, end - start)),
                read_options=csv.ReadOptions(
                    column_names=self.names,
                    use_threads=threads,
                    block_size=_STRETCH if threads else max(2 * _STRETCH, end - start + 1),
                ),
                parse_options=csv.ParseOptions(newlines_in_values=self.has_quotes),
                convert_options=csv.ConvertOptions(
                    column_types={**self.types, self.id_column: id_type},
                    null_values=[],
                    strings_can_be_null=False,
                    check_utf8=self.integer_ids,  # texts are compared with ours, which are UTF-8
                ),
            )
        except pa.ArrowException:
            return None

    def _has(self, character: bytes, start: int, end: int) -> bool:
        return self.text.find(character, start, end) >= 0


class _Filling:
    """The columns of all rows, filled in by several threads."""

    def __init__(self, file: _File, schema: Schema, row_ids: RowIds) -> None:
        self._file, self._schema, self._row_ids = file, schema, row_ids
        # A value that no cell has shows where nothing was filled in.
        self._arrays: dict[str, NDArray[Any]] = {
            column.name: np.full(len(row_ids), -1, np.int32)
            if column.classes
            else np.full(len(row_ids), np.nan)
            for column in schema.columns
            if not column.is_list
        }
        self._lists: dict[str, list[tuple[Lists, Place]]] = {
            column.name: [] for column in schema.columns if column.is_list
        }
        self._has_lists = np.zeros(len(row_ids) if self._lists else 0, np.bool_)
        self._counts = [0]
        self._is_usual = True

    def columns(self, start: int) -> Columns | None:
        """Return all columns, if each row has its values, once. The rows begin at `start`."""
        is_short = len(self._file.text) - start <= _STRETCH
        at_once = is_short or self._file.has_quotes or not self._row_ids.has_tables
        with ThreadPoolExecutor(thread_count()) as threads:
            run = map if at_once else threads.map
            list(run(self._fill, self._stretches(start, at_once=at_once)))
        if not self._is_usual or sum(self._counts) != len(self._row_ids):
            return None
        if not self._has_lists.all() or any(is_absent(a).any() for a in self._arrays.values()):
            return None
        if self._lists:
            give_memory_back()
        lists = {name: Lists.placed(parts) for name, parts in self._lists.items()}
        return {column.name: (self._arrays | lists)[column.name] for column in self._schema.columns}

    def _stretches(self, start: int, *, at_once: bool) -> Iterator[_Stretch]:
        """Yield the file in stretches of about as many bytes, up to where it has too many rows."""
        text = self._file.text
        # More are read sooner, but those under way take a share of the text; lists more memory.
        size = min(max(len(text) // (_SHARE * thread_count()), _STRETCH), _LONGEST)
        size = _STRETCH // 8 if self._lists else size
        row, most = 0, len(self._row_ids) + _BLANK_LINES
        while start < len(text) and self._is_usual:
            end = len(text) if at_once else text.find(b"\n", start + size) + 1 or len(text)
            lines = self._file.line_ends(start, end)
            if row + lines > most:
                self._is_usual = False
                return
            yield _Stretch(start, end, row)
            start, row = end, row + lines

    def _fill(self, stretch: _Stretch) -> None:
        if self._is_usual and not self._put(stretch):
            self._is_usual = False

    def _put(self, stretch: _Stretch) -> bool:
        """Read a stretch of the file; return whether it is as it should be."""
        start, end, first_row = stretch
        table = self._file.read(start, end, threads=start + 2 * _STRETCH < end)
        if table is None:
            return False
        self._counts.append(table.num_rows)
        if sum(self._counts) > len(self._row_ids):
            return False
        values = _decode(table, self._schema)
        rows = self._row_ids.places(table[self._schema.id_column], first_row)
        if values is None or rows is None:
            return False
        for name, array in self._arrays.items():
            array[rows] = values[name]
        for name, parts in self._lists.items():
            parts.append((values[name].compact(), rows))
            self._has_lists[rows] = True
        return True


def read_ids(text: bytes, start: int, names: Sequence[str], schema: Schema) -> RowIds | None:
    """Return the ids of a sample file whose cells are all as they should be."""
    file = _File.of(text, names, schema, integer_ids=False)
    try:
        texts = None if file is None else _ids(file, start, schema)
        give_memory_back()
        if texts is None:
            return None
        texts.validate(full=True)
        parts = (texts[at : at + _ROWS] for at in range(0, len(texts), _ROWS))
        lengths = (pc.binary_length(pc.utf8_trim_whitespace(part)) for part in parts)
        has_blank = any(pc.min(each).as_py() == 0 for each in lengths)
        return None if has_blank else RowIds(texts)
    except ValueError:  # not UTF-8, or an id twice, or none at all
        return None


def _ids(file: _File, start: int, schema: Schema) -> pa.StringArray | None:
    """Return the ids of a good file, read a stretch at a time to spare memory."""
    size = len(file.text) if file.has_quotes else _STRETCH
    chunks: list[pa.StringArray] = []
    while start < len(file.text):
        end = file.text.find(b"\n", start + size) + 1 or len(file.text)
        table = file.read(start, end, threads=file.has_quotes)
        if table is None or _decode(table, schema) is None:
            return None
        chunks += table[schema.id_column].chunks
        start = end
    return pa.chunked_array(chunks, pa.string()).combine_chunks()


def give_memory_back() -> None:
    """Let go of what pyarrow and the C library keep of arrays that aren't needed any more."""
    for _ in range(2):  # what threads that have ended kept is only taken over at first
        pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def aligned(columns: Mapping[str, Any], rows: NDArray[Any]) -> Columns:
    """Return the columns in the order that `rows` gives: the row of each value."""

    def ordered(values: Any) -> Any:
        if isinstance(values, Lists):
            return values[np.argsort(rows)] if values.are_texts else Lists.placed([(values, rows)])
        found = np.empty_like(values)
        for start in range(0, len(rows), _ROWS):  # a part at a time, to spare memory
            found[rows[start : start + _ROWS]] = values[start : start + _ROWS]
        return found

    return {name: ordered(values) for name, values in columns.items()}


def _has_codes_of_bytes(column: Column) -> bool:
    return column.kind == "label" and all(len(each.encode()) == 1 for each in column.classes)


def _quotes_are_plain(text: bytes) -> bool:
    """Return whether every quote stands at the edge of a cell and none is doubled.

    Of other quotes the readers have different opinions. In one piece a text of nothing but quotes
    would need twenty times its size.
    """
    for start in range(0, len(text), _PART):
        end = start + _PART
        before, after = text[start - 1 : start] if start else b"\n", text[end : end + 1] or b"\n"
        part = np.frombuffer(before + text[start:end] + after, np.uint8)
        at = np.flatnonzero(part[1:-1] == _QUOTE) + 1
        at_edge = _DELIMITERS[part[at - 1]] | _DELIMITERS[part[at + 1]]
        if not np.all(at_edge) or np.any(part[at + 1] == _QUOTE):
            return False
    return True


def _decode(table: pa.Table, schema: Schema) -> Columns | None:
    columns: Columns = {}
    for column in schema.columns:
        values = _values(table[column.name], column)
        if values is None:
            return None
        columns[column.name] = values
    return columns


def _values(cells: pa.ChunkedArray, column: Column) -> NDArray[Any] | Lists | None:
    if column.is_list:
        return _lists(cells, column)
    if column.kind == "label":
        return _codes(cells, column)
    values = np.asarray(one_array(cells))
    low, high = (0.0, 1.0) if column.kind == "probability" else (-_LARGEST, _LARGEST)
    is_good = low <= values.min(initial=high) and values.max(initial=low) <= high  # NaN is neither
    return values if is_good else None


def is_absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where there is no value: code -1, or NaN."""
    return values < 0 if values.dtype == np.int32 else np.isnan(values)


def _codes(cells: pa.ChunkedArray, column: Column) -> NDArray[Any] | None:
    if not _has_codes_of_bytes(column):
        return _codes_of_texts(cells, column.classes)
    texts, classes = one_array(cells), column.classes
    characters = texts.buffers()[1].slice(texts.offset, len(texts)) if len(texts) else b""
    table = np.full(256, len(classes), np.uint8)  # at most 128 characters are one byte
    table[[ord(each) for each in classes]] = np.arange(len(classes))
    codes = np.frombuffer(bytes(characters).translate(table.tobytes()), np.uint8)
    return None if codes.max(initial=0) == len(classes) else codes


def _codes_of_texts(cells: pa.ChunkedArray, classes: Sequence[str]) -> NDArray[np.int32] | None:
    codes = pc.index_in(cells, value_set=pa.array(classes, pa.string()))
    return None if codes.null_count else np.asarray(codes.to_numpy(), dtype=np.int32)


def _lists(cells: pa.ChunkedArray, column: Column) -> Lists | None:
    found: list[Lists] = []
    for chunk in cells.chunks:
        parts = pc.split_pattern(chunk, column.separator)
        words, lengths = parts.flatten(), np.array(pc.list_value_length(parts))
        if column.kind == "labels":  # an empty cell has one empty part, and no label
            lengths[np.asarray(pc.equal(pc.binary_length(chunk), 0))] = 0
            words = words.filter(pc.greater(pc.binary_length(words), 0))
        codes = _codes_of_texts(pa.chunked_array([words]), column.classes)
        if len(words) != lengths.sum() or codes is None:
            return None
        lists = Lists.of_lengths(lengths, codes)
        ascending = lists.ascending(len(column.classes))
        if ascending is None or lengths.max(initial=0) > (column.most or len(column.classes)):
            return None
        found.append(ascending if column.kind == "labels" else lists)
    return Lists.joined(found)
