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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from scoring.predictions.lists import Lists, Place
from scoring.predictions.row_ids import RowIds
from scoring.predictions.schema import Column, Schema

Columns = dict[str, Any]

_STRETCH = 1 << 19
_PART = 1 << 20
_ROWS = 1 << 16
_BLANK_LINES = 1000  # of more, `exact` judges
_LINE_ENDS = (ord("\n"), ord("\r"))
_QUOTE = ord('"')
_DELIMITERS = np.zeros(256, dtype=np.bool_)
_DELIMITERS[[ord(","), ord("\r"), ord("\n")]] = True


def read_aligned(
    text: bytes, start: int, names: Sequence[str], schema: Schema, row_ids: RowIds
) -> Columns | None:
    """The columns in the order of `row_ids`. `names` are the file's, its rows begin at `start`."""
    # Only decimal numbers are ids: 0x1F is one for pyarrow.
    whole = row_ids.are_integers and b"x" not in text and b"X" not in text
    file = _File.of(text, names, schema, pa.int64() if whole else pa.string())
    if file is None:
        return None
    filling = _Filling(file, schema, row_ids)
    at_once = file.has_quotes or not row_ids.has_tables
    size = _STRETCH // 4 if schema.separators else _STRETCH  # lists take more memory on their way
    stretches = [(start, len(text))] if at_once else list(_stretches(text, start, size))
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        run = map if len(stretches) == 1 else threads.map
        counts = list(run(file.line_ends, stretches))
        if sum(counts) <= len(row_ids) + _BLANK_LINES:
            list(run(filling.fill, stretches, np.cumsum([0, *counts])))
    return filling.columns()


def _stretches(text: bytes, start: int, size: int) -> Iterator[tuple[int, int]]:
    """Where stretches of whole lines start and end, each of about that many bytes."""
    while start < len(text):
        end = text.find(b"\n", start + size) + 1 or len(text)
        yield start, end
        start = end


@dataclass(frozen=True)
class _File:
    """A text that pyarrow and `exact` read alike, as far as quotes go."""

    text: bytes
    names: Sequence[str]
    types: Mapping[str, pa.DataType]
    has_quotes: bool
    has_returns: bool

    @classmethod
    def of(
        cls, text: bytes, names: Sequence[str], schema: Schema, ids: pa.DataType
    ) -> "_File | None":
        has_quotes = b'"' in text
        if has_quotes and not _quotes_are_plain(text):
            return None
        types = {schema.id_column: ids} | _types(schema)
        return cls(text, names, types, has_quotes, b"\r" in text)

    def line_ends(self, stretch: tuple[int, int]) -> int:
        """The number of LFs or of CRs in a stretch, whichever there are more of."""
        characters = np.frombuffer(self.text, np.uint8)[slice(*stretch)]
        parts = [characters[at : at + _PART] for at in range(0, len(characters), _PART)]
        ends = _LINE_ENDS if self.has_returns else _LINE_ENDS[:1]
        return max(sum(int(np.count_nonzero(part == end)) for part in parts) for end in ends)

    def read(self, start: int, end: int, *, threads: bool = False) -> pa.Table | None:
        """The rows that are written from `start` to `end`."""
        if self.text.startswith(codecs.BOM_UTF8, start):  # pyarrow would pass over it
            return None
        try:
            return csv.read_csv(
                pa.BufferReader(pa.py_buffer(self.text).slice(start, end - start)),
                read_options=csv.ReadOptions(
                    column_names=list(self.names),
                    use_threads=threads,
                    block_size=_STRETCH if threads else max(2 * _STRETCH, end - start + 1),
                ),
                parse_options=csv.ParseOptions(newlines_in_values=self.has_quotes),
                convert_options=csv.ConvertOptions(
                    column_types=dict(self.types), null_values=[], strings_can_be_null=False
                ),
            )
        except pa.ArrowException:
            return None


class _Filling:
    """The columns of all rows, filled in by several threads."""

    def __init__(self, file: _File, schema: Schema, row_ids: RowIds) -> None:
        self._file, self._schema, self._row_ids = file, schema, row_ids
        self._arrays = {
            column.name: np.empty(len(row_ids), np.int32 if column.classes else np.float64)
            for column in schema.columns
            if not column.is_list
        }
        self._lists: dict[str, list[tuple[Lists, Place]]] = {
            column.name: [] for column in schema.columns if column.is_list
        }
        self._filled = np.zeros(len(row_ids), np.bool_)
        self._counts = [0]
        self._is_usual = True

    def fill(self, stretch: tuple[int, int], first_row: int) -> None:
        """Reads a stretch of the file. `first_row`: what its first line probably is."""
        if self._is_usual and not self._put(*stretch, int(first_row)):
            self._is_usual = False

    def columns(self) -> Columns | None:
        """All columns, if each row has its values, once."""
        if not self._is_usual or sum(self._counts) != len(self._row_ids) or not self._filled.all():
            return None
        if self._lists:
            give_memory_back()
        lists = {name: Lists.placed(parts) for name, parts in self._lists.items()}
        return {column.name: (self._arrays | lists)[column.name] for column in self._schema.columns}

    def _put(self, start: int, end: int, first_row: int) -> bool:
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
        self._filled[rows] = True
        return True


def read_ids(text: bytes, start: int, names: Sequence[str], schema: Schema) -> RowIds | None:
    """The ids of a sample file whose cells are all as they should be."""
    file = _File.of(text, names, schema, pa.string())
    table = None if file is None else file.read(start, len(text), threads=True)
    if table is None or _decode(table, schema) is None:
        return None
    texts = table[schema.id_column].combine_chunks()
    if pc.any(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0)).as_py():
        return None
    try:
        return RowIds(texts)
    except ValueError:
        return None


def give_memory_back() -> None:
    """Lets go of what pyarrow and the C library keep of arrays that aren't needed any more."""
    for _ in range(2):  # what threads that have ended kept is only taken over at first
        pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)


def aligned(columns: Mapping[str, Any], rows: NDArray[Any]) -> Columns:
    """The columns in the order that `rows` gives: the row of each value."""
    return {name: _aligned(values, rows) for name, values in columns.items()}


def _aligned(values: Any, rows: NDArray[Any]) -> Any:
    if isinstance(values, Lists):
        return Lists.placed([(values, rows)])
    ordered = np.empty_like(values)
    for start in range(0, len(rows), _ROWS):  # a part at a time, to spare memory
        ordered[rows[start : start + _ROWS]] = values[start : start + _ROWS]
    return ordered


def _types(schema: Schema) -> dict[str, pa.DataType]:
    return {column.name: _type(column) for column in schema.columns}


def _type(column: Column) -> pa.DataType:
    if _has_codes_of_bytes(column):
        return pa.binary(1)
    return pa.string() if column.classes else pa.float64()


def _has_codes_of_bytes(column: Column) -> bool:
    """Whether every label is one byte, as digits are."""
    return column.kind == "label" and all(len(each.encode()) == 1 for each in column.classes)


def _quotes_are_plain(text: bytes) -> bool:
    """Whether every quote stands at the edge of a cell and none is doubled.

    Of other quotes the readers have different opinions.
    """
    return all(_are_plain(part) for part in _overlapping(text))


def _overlapping(text: bytes) -> Iterator[bytes]:
    """The text in parts, each with the character before and after it, or a line end.

    In one piece a text of nothing but quotes would need twenty times its size.
    """
    for start in range(0, len(text), _PART):
        end = start + _PART
        before = text[start - 1 : start] if start else b"\n"
        yield before + text[start:end] + (text[end : end + 1] or b"\n")


def _are_plain(part: bytes) -> bool:
    characters = np.frombuffer(part, np.uint8)
    at = np.flatnonzero(characters[1:-1] == _QUOTE) + 1
    before, after = characters[at - 1], characters[at + 1]
    return bool(np.all(_DELIMITERS[before] | _DELIMITERS[after]) and not np.any(after == _QUOTE))


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
    values = np.asarray(cells.to_numpy(), dtype=np.float64)
    if column.kind == "probability":
        return values if bool(np.all((values >= 0) & (values <= 1))) else None
    return values if bool(np.isfinite(values).all()) else None


def _codes(cells: pa.ChunkedArray, column: Column) -> NDArray[np.int32] | None:
    if _has_codes_of_bytes(column):
        return _codes_of_bytes(cells, column.classes)
    return _codes_of_texts(cells, column.classes)


def _codes_of_texts(cells: pa.ChunkedArray, classes: Sequence[str]) -> NDArray[np.int32] | None:
    codes = pc.index_in(cells, value_set=pa.array(classes, pa.string()))
    return None if codes.null_count else np.asarray(codes.to_numpy(), dtype=np.int32)


def _codes_of_bytes(cells: pa.ChunkedArray, classes: Sequence[str]) -> NDArray[np.int32] | None:
    table = np.full(256, -1, np.int32)
    table[[ord(each) for each in classes]] = np.arange(len(classes))
    parts = [
        table[np.frombuffer(chunk.buffers()[1], np.uint8)[chunk.offset : chunk.offset + len(chunk)]]
        for chunk in cells.chunks
    ]
    codes = np.concatenate(parts) if parts else table[:0]
    return None if codes.min(initial=0) < 0 else codes


def _lists(cells: pa.ChunkedArray, column: Column) -> Lists | None:
    parts = [_lists_of(chunk, column) for chunk in cells.chunks]
    found = [part for part in parts if part is not None]
    return Lists.joined(found) if len(found) == len(parts) else None


def _lists_of(cells: pa.StringArray, column: Column) -> Lists | None:
    parts = pc.split_pattern(cells, column.separator)
    words, lengths = parts.flatten(), np.array(pc.list_value_length(parts))
    if column.kind == "labels":  # an empty cell has one empty part, and no label
        lengths[np.asarray(pc.equal(pc.binary_length(cells), 0))] = 0
        words = words.filter(pc.greater(pc.binary_length(words), 0))
        if len(words) != lengths.sum():
            return None
    codes = _codes_of_texts(pa.chunked_array([words]), column.classes)
    if codes is None or lengths.max(initial=0) > (column.most or len(column.classes)):
        return None
    lists = Lists.of_lengths(lengths, codes)
    ascending = lists.ascending(len(column.classes))
    return ascending if ascending is None or column.kind == "labels" else lists
