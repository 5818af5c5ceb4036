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

from scoring.predictions.parquet import delta
from scoring.predictions.parquet.thrift import I64, Damaged, Reader, Struct

_TAIL = 8  # bytes: the length of the footer, the magic
_STRUCT_SIZE = 256  # bytes of text that take as much memory as a structure
_ITEM_SIZE = 6  # the same of an item of a list, with its levels

_BATCH_ROWS = 1 << 16
_BATCH_VALUES = 1 << 17
_BATCH_TEXT = 1 << 22

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # pages
_DETAILS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}  # the field of a header that has them
_ENCODING = {_DATA: 2, _DATA_V2: 4}  # the field of the details that has it
_NO_CODEC = 0
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_raw", 6: "zstd", 7: "lz4_raw"}
_RLE, *_DELTAS = 3, 6, 7  # encodings: of levels; of texts by lengths, by prefixes

# Fails if so many bytes of text are too many.
Check = Callable[[int], None]


@dataclass(frozen=True)
class Footer:
    """What a file says of itself. Raise Damaged where that makes no sense.

    elements: how many the schema has. pyarrow's own description isn't asked for more than it needs
    to: some lies in it end the process.
    """

    elements: int
    groups: list[Struct]
    is_encrypted: bool

    @classmethod
    def of(cls, data: bytes, most: int, check: Check) -> "Footer":
        """Return the footer of a file, if it has at most so many bytes."""
        size = int.from_bytes(data[-_TAIL:][:4], "little")
        if size > min(most, len(data) - _TAIL):
            raise Damaged("a footer larger than the file, or than any footer")
        footer = memoryview(data)[-_TAIL - size : -_TAIL]
        fields = Reader(footer, watch=lambda structs: check(_STRUCT_SIZE * structs)).struct()
        return cls(len(_list(fields, 2)), _list(fields, 4), is_encrypted=8 in fields)

    @property
    def rows(self) -> int:
        return sum(_number(group, 3) for group in self.groups)


@dataclass(frozen=True)
class Plan:
    """How to read a file in bounded memory.

    dictionaries: the columns whose texts are to be read as such, so that one that stands in a
        million rows isn't there a million times. batch_rows: how many rows to read at a time.
    """

    batch_rows: int
    dictionaries: list[str]


def plan(data: bytes, footer: Footer, schema: parquet.ParquetSchema, check: Check) -> Plan:
    """Look through the header of every page that would be read. Raise Damaged."""
    columns = [schema.column(number) for number in range(len(schema))]
    chunks = [chunk for group in footer.groups for chunk in _chunks(data, group, columns)]
    if sum(len(chunk.data) for chunk in chunks) > len(data):
        raise Damaged("column chunks that overlap")
    # Each value is a character of the text at least.
    check(sum(chunk.values * (_ITEM_SIZE if chunk.repeats else 1) for chunk in chunks))
    size = 0
    for page in (page for chunk in chunks for page in chunk.pages()):
        size += max(page.size, len(page.body))
        check(size)
    texts = [chunk for chunk in chunks if chunk.is_text]
    deltas = {
        chunk.path for chunk in texts if any(page.encoding in _DELTAS for page in chunk.pages())
    }
    longest = _check_texts([chunk for chunk in texts if chunk.path in deltas], size, check)
    batch_rows = min(
        _BATCH_ROWS,
        _BATCH_VALUES * footer.rows // max(1, sum(chunk.values for chunk in chunks)),
        _BATCH_TEXT // max(1, longest),
    )
    return Plan(max(1, batch_rows), sorted({chunk.path for chunk in texts} - deltas))


def _check_texts(chunks: "list[_Chunk]", size: int, check: Check) -> int:
    """Return the longest text's length in the dictionaries of columns that have differences too.

    pyarrow can't read them as dictionaries, so a text may be there many times. size: of all pages.
    """
    longest = 0
    for chunk in chunks:
        of_chunk = 0
        for page in chunk.pages():
            if page.encoding in _DELTAS:
                # By how much the texts are longer than the page.
                read = delta.check_lengths if page.encoding == _DELTAS[0] else delta.shared_size
                size += read(_without_levels(chunk, page), page.values)
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
        return self.details.get(_ENCODING[self.kind]) if self.is_data else None


@dataclass(frozen=True)
class _Chunk:
    """A column's part of a row group. levels: whether it has those of repetition, of definition."""

    path: str
    values: int
    codec: int
    is_text: bool
    levels: tuple[bool, bool]
    data: memoryview

    @property
    def repeats(self) -> bool:
        return self.levels[0]

    def pages(self) -> Iterator[_Page]:
        """Yield those that hold the values, as a reader goes from one to the next."""
        reader, left = Reader(self.data), self.values
        while left:
            header = reader.struct()
            kind, size, packed = (_number(header, field) for field in (1, 2, 3))
            body = reader.take(packed)
            details = header.get(_DETAILS.get(kind, 0), {})
            if not isinstance(details, dict):
                raise Damaged("a page that isn't described")
            values = _number(details, 1) if kind in _DETAILS else 0
            if kind == _DICTIONARY and values > size:
                raise Damaged("a dictionary with more values than bytes")
            page = _Page(kind, details, values, size, body)
            yield page
            left -= page.values if page.is_data else 0
            if left < 0:
                raise Damaged("a page has more values than are left")


def _chunks(
    data: bytes, group: Struct, columns: "list[parquet.ColumnSchema]"
) -> "Iterator[_Chunk]":
    chunks = _list(group, 1)
    if len(chunks) != len(columns):
        raise Damaged("a row group with other columns than the schema's")
    for column, chunk in zip(columns, chunks, strict=True):
        meta = chunk.get(3)
        if not isinstance(meta, dict):
            raise Damaged("a column chunk that isn't described")
        start, size, values = _number(meta, 9), _number(meta, 7), _number(meta, 5)
        dictionary = meta.get(11, I64(0))
        if not isinstance(dictionary, I64):
            raise Damaged("a place that isn't a number of 64 bits")
        start = dictionary if 0 < dictionary < start else start  # as pyarrow takes the first page
        if start + size > len(data):
            raise Damaged("a column chunk outside of the file")
        levels = (column.max_repetition_level > 0, column.max_definition_level > 0)
        if not levels[0] and values != _number(group, 3):
            raise Damaged("a column with more or fewer values than rows")
        is_text = column.physical_type == "BYTE_ARRAY"
        part = memoryview(data)[start : start + size]
        yield _Chunk(column.path, values, _number(meta, 4), is_text, levels, part)


def _list(fields: Struct, number: int) -> list[Struct]:
    """Return a list that has to be there."""
    value = fields.get(number)
    if not isinstance(value, list):
        raise Damaged("a list is missing")
    return value


def _number(fields: Struct, number: int) -> int:
    """Return a number that has to be there, and can't be negative."""
    value = fields.get(number)
    if not isinstance(value, int) or value < 0:
        raise Damaged("a number is missing or impossible")
    return value


def _longest(chunk: _Chunk, page: _Page) -> int:
    if page.kind != _DICTIONARY:
        return 0
    texts, longest = Reader(_expanded(page.body, page.size, chunk.codec)), 0
    for _ in range(page.values):
        length = int.from_bytes(texts.take(4), "little")
        texts.take(length)
        longest = max(longest, length)
    return longest


def _without_levels(chunk: _Chunk, page: _Page) -> memoryview:
    """Return the expanded values of a data page, behind its levels."""
    if page.kind == _DATA_V2:
        levels = _number(page.details, 5) + _number(page.details, 6)
        is_packed = page.details.get(7)
        if not isinstance(is_packed, bool):
            raise Damaged("a page that doesn't say whether it is compressed")
        codec = chunk.codec if is_packed else _NO_CODEC
        return _expanded(page.body[levels:], page.size - levels, codec)
    reader = Reader(_expanded(page.body, page.size, chunk.codec))
    for has_levels, field in zip(chunk.levels, (4, 3), strict=True):
        if has_levels:
            if page.details.get(field) != _RLE:
                raise Damaged("levels as nobody writes them any more")
            reader.take(int.from_bytes(reader.take(4), "little"))
    return reader.rest()


def _expanded(packed: memoryview, size: int, codec: int) -> memoryview:
    if codec == _NO_CODEC or size <= 0:
        return packed
    if codec not in _CODECS:
        raise Damaged("a compression that isn't known")
    return memoryview(pa.Codec(_CODECS[codec]).decompress(packed, decompressed_size=size))
