"""Parquet files written field by field, so that they can lie as no library's would.

A structure of Thrift's compact protocol is a dictionary from field numbers to values: an `int` is
an i32, an `I64` an i64, `bytes` a text, a `dict` a structure, a `list` one of values of one type.
The numbers are those of parquet.thrift in https://github.com/apache/parquet-format.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

MAGIC = b"PAR1"
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
BOOLEAN, INT64, TEXT, FIXED = 0, 2, 6, 7
PLAIN, RLE, DELTA_NUMBERS, DELTA_LENGTHS, DELTA_TEXTS, RLE_DICTIONARY = 0, 3, 5, 6, 7, 8
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
CODECS = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6}

Struct = dict[int, Any]


class I64(int):
    """A number in 64 bits."""


def varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def compact(fields: Struct) -> bytes:
    """A structure as bytes."""
    parts, last = [], 0
    for number, value in sorted(fields.items()):
        kind, body = _coded(value)
        parts.append(bytes([(number - last) << 4 | kind]) + body)
        last = number
    return b"".join(parts) + b"\0"


def _coded(value: Any) -> tuple[int, bytes]:
    """The number of a value's type, and its bytes."""
    if isinstance(value, bool):
        return (1 if value else 2), b""
    if isinstance(value, int):
        return (6 if isinstance(value, I64) else 5), zigzag(value)
    if isinstance(value, bytes):
        return 8, varint(len(value)) + value
    if isinstance(value, dict):
        return 12, compact(value)
    items = [_coded(item) for item in value]
    kind = items[0][0] if items else 12
    return 9, bytes([0xF0 | kind]) + varint(len(items)) + b"".join(body for _, body in items)


def numbers(count: int) -> bytes:
    """0, 1, 2 ... as they stand in a page."""
    return np.arange(count, dtype="<i8").tobytes()


def texts(*values: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def run(value: int, count: int, width: int) -> bytes:
    """`count` times the same number of `width` bits, in a few bytes."""
    return varint(count << 1) + value.to_bytes((width + 7) // 8, "little")


def levels(repetition: bytes, definition: bytes) -> bytes:
    """The levels of a page of a list."""
    return b"".join(struct.pack("<I", len(each)) + each for each in (repetition, definition))


def delta_zeros(count: int, block: int = 1 << 30) -> bytes:
    """So many zeros as differences, in a block of a few bytes."""
    return varint(block) + varint(4) + varint(count) + zigzag(0) + zigzag(0) + bytes(4)


@dataclass
class Page:
    """A page; `says` overrides fields of its header."""

    data: bytes
    values: int
    kind: int = DATA
    encoding: int = PLAIN
    says: Struct = field(default_factory=dict)

    def written(self, codec: str) -> bytes:
        packed = self.data
        if codec != "none":
            packed = pa.Codec(codec).compress(self.data, asbytes=True)
        header: Struct = {1: self.kind, 2: len(self.data), 3: len(packed)}
        return compact(header | self._details() | self.says) + packed

    def _details(self) -> Struct:
        if self.kind == DICTIONARY:
            return {7: {1: self.values, 2: PLAIN}}
        if self.kind == DATA:
            return {5: {1: self.values, 2: self.encoding, 3: RLE, 4: RLE}}
        return {8: {1: self.values, 2: 0, 3: self.values, 4: self.encoding, 5: 0, 6: 0}}


@dataclass
class Chunk:
    """A column's part of a row group; `says` overrides fields of its description.

    Without pages it has those of the chunk before.
    """

    path: str
    type: int
    values: int
    pages: Sequence[Page] = ()
    codec: str = "zstd"
    says: Struct = field(default_factory=dict)


def leaf(name: str, kind: int) -> Struct:
    """A column that is no list, in the schema."""
    text: Struct = {6: 0} if kind == TEXT else {}
    return {1: kind, 3: REQUIRED, 4: name.encode()} | text


def list_of(name: str, kind: int) -> list[Struct]:
    """The three elements of a list in the schema; its items have the path `name.list.element`."""
    return [
        {3: OPTIONAL, 4: name.encode(), 5: 1, 6: 3},
        {3: REPEATED, 4: b"list", 5: 1},
        leaf("element", kind) | {3: OPTIONAL},
    ]


def in_parts(
    schema: Sequence[Struct], groups: Sequence[tuple[int, Sequence[Chunk]]], columns: int
) -> bytes:
    """A file of row groups, each with its number of rows and its chunks."""
    out = bytearray(MAGIC)
    described = []
    place = (0, 0, 0)
    for rows, chunks in groups:
        metas = []
        for chunk in chunks:
            place = _put(chunk, out) if chunk.pages or not chunk.values else place
            metas.append({2: I64(0), 3: _described(chunk, *place)})
        described.append({1: metas, 2: I64(0), 3: I64(rows)})
    root = {4: b"schema", 5: columns}
    rows = I64(sum(rows for rows, _ in groups))
    return ended(bytes(out), compact({1: 2, 2: [root, *schema], 3: rows, 4: described}))


def ended(data: bytes, footer: bytes) -> bytes:
    return data + footer + struct.pack("<I", len(footer)) + MAGIC


def _put(chunk: Chunk, out: bytearray) -> tuple[int, int, int]:
    """Where the chunk's bytes begin, where its data pages do, how many bytes it has."""
    start = len(out)
    pages = [page.written(chunk.codec) for page in chunk.pages]
    out += b"".join(pages)
    has_dictionary = bool(chunk.pages) and chunk.pages[0].kind == DICTIONARY
    return start, start + (len(pages[0]) if has_dictionary else 0), len(out) - start


def _described(chunk: Chunk, start: int, data: int, size: int) -> Struct:
    dictionary: Struct = {11: I64(start)} if data > start else {}
    return (
        dictionary
        | {
            1: chunk.type,
            2: [PLAIN, RLE, RLE_DICTIONARY],
            3: [part.encode() for part in chunk.path.split(".")],
            4: CODECS[chunk.codec],
            5: I64(chunk.values),
            6: I64(size),
            7: I64(size),
            9: I64(data),
        }
        | chunk.says
    )
