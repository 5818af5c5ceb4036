"""What a Parquet file's own structures say of the memory that reading it takes.

A footer of 20 bytes can announce a list of millions, a page of some KB can expand to gigabytes, a
run of a few bytes can stand for a billion values: pyarrow lays memory out for all that. So footer
and page headers are looked through before it sees them. The numbers of fields are those of
parquet.thrift in https://github.com/apache/parquet-format.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import parquet

from scoring.predictions import delta
from scoring.predictions.thrift import Damaged, Reader, Struct

_TAIL = 8  # bytes: the length of the footer, the magic
_STRUCT_SIZE = 160  # bytes of text that take as much memory as a structure
_ITEM_SIZE = 4  # the same of an item of a list, with its levels

_BATCH_ROWS = 1 << 16
_BATCH_VALUES = 1 << 17
_BATCH_TEXT = 1 << 22

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # pages
_DETAILS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}  # the field of a header that has them
_ENCODING = {_DATA: 2, _DATA_V2: 4}  # the field of the details that has it
_NO_CODEC = "UNCOMPRESSED"
_RLE, _DELTA_LENGTHS, _DELTA_TEXTS = 3, 6, 7  # encodings

# Fails if so many bytes of text are too many.
Check = Callable[[int], None]


@dataclass(frozen=True)
class Footer:
    """The number of elements of the schema, and whether columns are encrypted."""

    elements: int
    is_encrypted: bool


@dataclass(frozen=True)
class Plan:
    """How to read a file in bounded memory.

    dictionaries: the columns whose texts are to be read as such, so that one that stands in a
        million rows isn't there a million times. batch_rows: how many rows to read at a time.
    """

    rows: int
    batch_rows: int
    dictionaries: list[str]


def read_footer(data: bytes, most: int, check: Check) -> Footer:
    """Looks through a footer of at most so many bytes. Raises Damaged."""
    size = int.from_bytes(data[-_TAIL:][:4], "little")
    if size > min(most, len(data) - _TAIL):
        raise Damaged("a footer larger than the file, or than any footer")
    reader = Reader(memoryview(data)[-_TAIL - size : -_TAIL])
    fields = reader.struct()
    check(_STRUCT_SIZE * reader.structs)
    return Footer(elements=fields.get(2, 0), is_encrypted=8 in fields)


def plan(data: bytes, facts: parquet.FileMetaData, check: Check) -> Plan:
    """Looks through the header of every page that would be read. Raises Damaged."""
    chunks = list(_chunks(data, facts))
    size = _check_sizes(chunks, check)
    texts = [chunk for chunk in chunks if chunk.is_text]
    deltas = {chunk.column for chunk in texts if any(map(_is_delta, chunk.pages()))}
    longest = _check_texts([chunk for chunk in texts if chunk.column in deltas], size, check)
    dictionaries = sorted({chunk.column for chunk in texts} - deltas)
    rows = sum(facts.row_group(group).num_rows for group in range(facts.num_row_groups))
    batch_rows = min(
        _BATCH_ROWS,
        _BATCH_VALUES * rows // max(1, sum(chunk.values for chunk in chunks)),
        _BATCH_TEXT // max(1, longest),
    )
    paths = [facts.schema.column(column).path for column in dictionaries]
    return Plan(rows, max(1, batch_rows), paths)


def _check_sizes(chunks: "list[_Chunk]", check: Check) -> int:
    """The size of all pages. Each value is a character of the text at least."""
    check(sum(chunk.values * (_ITEM_SIZE if chunk.repeats else 1) for chunk in chunks))
    size = 0
    for chunk in chunks:
        for page in chunk.pages():
            size += max(page.size, len(page.body))
            check(size)
    return size


def _check_texts(chunks: "list[_Chunk]", size: int, check: Check) -> int:
    """The length of the longest text in the dictionaries of columns that have differences too.

    pyarrow can't read them as dictionaries, so a text may be there many times. size: of all pages.
    """
    longest = 0
    for chunk in chunks:
        of_chunk = 0
        for page in chunk.pages():
            size += _shared(chunk, page)
            of_chunk = max(of_chunk, _longest(chunk, page))
        size += of_chunk * chunk.values if chunk.repeats else 0  # one row may have all of them
        check(size)
        longest = max(longest, of_chunk)
    return longest


@dataclass(frozen=True)
class _Page:
    """A page: its kind, its header's numbers, its bytes as they are in the file.

    values: how many it stands for. size: its bytes, once expanded.
    """

    kind: int
    details: Struct
    values: int
    size: int
    body: memoryview

    @property
    def is_data(self) -> bool:
        return self.kind in (_DATA, _DATA_V2)

    @property
    def encoding(self) -> int | None:
        """Of the values."""
        return self.details.get(_ENCODING[self.kind]) if self.is_data else None


@dataclass(frozen=True)
class _Chunk:
    """A column's part of a row group. levels: whether it has those of repetition, of definition."""

    column: int
    values: int
    codec: str
    is_text: bool
    levels: tuple[bool, bool]
    data: memoryview

    @property
    def repeats(self) -> bool:
        return self.levels[0]

    def pages(self) -> Iterator[_Page]:
        """Those that hold the values, as a reader goes from one to the next."""
        reader, left = Reader(self.data), self.values
        while left:
            page = _page(reader.struct(), reader)
            yield page
            left -= page.values if page.is_data else 0
            if left < 0:
                raise Damaged("a page has more values than are left")


def _chunks(data: bytes, facts: parquet.FileMetaData) -> Iterator[_Chunk]:
    """All column chunks; together they have no more bytes than the file."""
    columns = [facts.schema.column(column) for column in range(facts.num_columns)]
    left = len(data)
    for group in map(facts.row_group, range(facts.num_row_groups)):
        if group.num_columns != len(columns):
            raise Damaged("a row group with other columns than the schema's")
        for number, column in enumerate(columns):
            chunk = group.column(number)
            start, size = _start(chunk), chunk.total_compressed_size
            left -= size
            if min(start, size, left, chunk.num_values, len(data) - start - size) < 0:
                raise Damaged("a column chunk outside of the file")
            levels = (column.max_repetition_level > 0, column.max_definition_level > 0)
            if not levels[0] and chunk.num_values != group.num_rows:
                raise Damaged("a column with more or fewer values than rows")
            is_text = chunk.physical_type == "BYTE_ARRAY"
            part = memoryview(data)[start : start + size]
            yield _Chunk(number, chunk.num_values, chunk.compression, is_text, levels, part)


def _start(chunk: parquet.ColumnChunkMetaData) -> int:
    """Where pyarrow takes the first page from."""
    data, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
    return int(dictionary if dictionary and 0 < dictionary < data else data)


def _page(header: Struct, reader: Reader) -> _Page:
    """The page that has this header, which the reader has just read."""
    kind, size, packed = (_number(header, field) for field in (1, 2, 3))
    body = reader.take(packed)
    details = header.get(_DETAILS.get(kind, 0), {})
    values = _number(details, 1) if kind in _DETAILS else 0
    if kind == _DICTIONARY and values > size:
        raise Damaged("a dictionary with more values than bytes")
    return _Page(kind, details, values, size, body)


def _number(fields: Struct, number: int) -> int:
    """A field that has to be there, and can't be negative."""
    value = fields.get(number)
    if not isinstance(value, int) or value < 0:
        raise Damaged("a number is missing or impossible")
    return value


def _is_delta(page: _Page) -> bool:
    return page.encoding in (_DELTA_LENGTHS, _DELTA_TEXTS)


def _shared(chunk: _Chunk, page: _Page) -> int:
    """How much longer the texts of a page are than the page."""
    if page.encoding == _DELTA_LENGTHS:
        delta.check_lengths(_without_levels(chunk, page), page.values)
    if page.encoding == _DELTA_TEXTS:
        return delta.shared_size(_without_levels(chunk, page), page.values)
    return 0


def _longest(chunk: _Chunk, page: _Page) -> int:
    """The length of the longest text of a dictionary."""
    if page.kind != _DICTIONARY:
        return 0
    texts, longest = Reader(_expanded(page.body, page.size, chunk.codec)), 0
    for _ in range(page.values):
        length = int.from_bytes(texts.take(4), "little")
        texts.take(length)
        longest = max(longest, length)
    return longest


def _without_levels(chunk: _Chunk, page: _Page) -> memoryview:
    """The expanded values of a data page, behind its levels."""
    if page.kind == _DATA_V2:
        levels = _number(page.details, 5) + _number(page.details, 6)
        codec = chunk.codec if page.details.get(7, True) else _NO_CODEC
        return _expanded(page.body[levels:], page.size - levels, codec)
    reader = Reader(_expanded(page.body, page.size, chunk.codec))
    for has_levels, field in zip(chunk.levels, (4, 3), strict=True):
        if has_levels:
            if page.details.get(field) != _RLE:
                raise Damaged("levels as nobody writes them any more")
            reader.take(int.from_bytes(reader.take(4), "little"))
    return reader.rest()


def _expanded(packed: memoryview, size: int, codec: str) -> memoryview:
    if codec == _NO_CODEC or size <= 0:
        return packed
    name = {"LZ4": "lz4_raw"}.get(codec, codec.lower())
    return memoryview(pa.Codec(name).decompress(packed, decompressed_size=size))
