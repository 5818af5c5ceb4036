"""Parquet files that say little of themselves and expand to gigabytes, or try to.

    python -m tests.scoring.lies

reads each and prints the memory that it takes, as a multiple of what its limits allow. The files
are small: none allows more than a few MB.
"""

import sys
from collections.abc import Callable, Sequence

import pyarrow as pa

from scoring.errors import PredictionError
from scoring.predictions import Column, Limits, RowIds, Schema, read_predictions
from tests.scoring.handmade import (
    DATA_V2,
    DELTA_LENGTHS,
    DELTA_TEXTS,
    DICTIONARY,
    FIXED,
    I64,
    INT64,
    MAGIC,
    RLE_DICTIONARY,
    TEXT,
    Chunk,
    Page,
    Struct,
    compact,
    delta_zeros,
    ended,
    in_parts,
    leaf,
    levels,
    list_of,
    numbers,
    run,
    texts,
    varint,
)
from tests.scoring.memory import SPARE, memory, settled
from tests.scoring.packed import in_parquet

ROWS = 100
MANY = 1 << 25
BILLION = 1 << 30
SCHEMA = Schema("i", (Column("y", "number"),))
LISTS = Schema("i", (Column("y", "labels", ("1", "2")),))
ROW_IDS = RowIds(list(map(str, range(ROWS))))
LIMITS = Limits.of_upload(2**25)

IDS = Chunk("i", INT64, ROWS, [Page(numbers(ROWS), ROWS)])
ONE = Page(numbers(1), 1, DICTIONARY)
LONG = Page(texts(b"1" * 20_000), 1, DICTIONARY)


def of(pages: Sequence[Page], kind: int = INT64, values: int = ROWS, codec: str = "zstd") -> bytes:
    """A good column of ids, and one of these pages."""
    schema = [leaf("i", INT64), leaf("y", kind)]
    return in_parts(schema, [(ROWS, [IDS, Chunk("y", kind, values, pages, codec)])], 2)


def described(says: Struct) -> bytes:
    """A good column of ids, and one that says something more of itself."""
    page = Page(numbers(ROWS), ROWS)
    chunks = [IDS, Chunk("y", INT64, ROWS, [page], says=says)]
    return in_parts([leaf("i", INT64), leaf("y", INT64)], [(ROWS, chunks)], 2)


def same(rows: int) -> Page:
    """The first value of the dictionary in every row."""
    return Page(b"\1" + run(0, rows, 1), rows, encoding=RLE_DICTIONARY)


def long_list(kind: int, first: Page, items: int) -> bytes:
    """One row with one list of equal items."""
    data = levels(run(0, 1, 1) + run(1, items - 1, 1), run(3, items, 2)) + same(items).data
    page = Page(data, items, encoding=RLE_DICTIONARY)
    ids = Chunk("i", INT64, 1, [Page(numbers(1), 1)])
    chunk = Chunk("y.list.element", kind, items, [first, page])
    return in_parts([leaf("i", INT64), *list_of("y", kind)], [(1, [ids, chunk])], 2)


def wide(columns: int, rows: int) -> bytes:
    """Many columns of equal numbers."""
    names = [f"c{number}" for number in range(columns)]
    chunks = [Chunk(name, INT64, rows, [ONE, same(rows)]) for name in names]
    return in_parts([leaf(name, INT64) for name in names], [(rows, chunks)], columns)


def overlapping(columns: int, rows: int) -> bytes:
    """Many columns that are all the same bytes."""
    names = [f"c{number}" for number in range(columns)]
    chunks = [Chunk(name, INT64, rows) for name in names]
    chunks[0].pages = [Page(numbers(rows), rows)]
    return in_parts([leaf(name, INT64) for name in names], [(rows, chunks)], columns)


def empty_groups(groups: int) -> bytes:
    chunks = [Chunk("i", INT64, 0), Chunk("y", INT64, 0)]
    good = [IDS, Chunk("y", INT64, ROWS, [Page(numbers(ROWS), ROWS)])]
    return in_parts(
        [leaf("i", INT64), leaf("y", INT64)], [(ROWS, good), *[(0, chunks)] * groups], 2
    )


def repeated(encoding: str) -> bytes:
    """A long text in many rows, as a library writes it."""
    long = pa.array(["1" * 10_000]).take(pa.array([0] * 5_000))
    table = {"i": range(5_000), "y": long}
    options = {"column_encoding": {"y": encoding}, "use_dictionary": False}
    return in_parquet(table, compression="zstd", data_page_size=2**30, **options)


def list_of_groups(count: int) -> bytes:
    """A footer that announces row groups that aren't there."""
    described = compact({1: 2, 2: [{4: b"schema", 5: 0}], 3: 0})[:-1]
    return ended(MAGIC, described + b"\x19\xfc" + varint(count))


LIES: dict[str, Callable[[], bytes]] = {
    "a page": lambda: of([Page(bytes(MANY), ROWS)]),
    "a page of gzip": lambda: of([Page(bytes(MANY), ROWS)], codec="gzip"),
    "a page of brotli": lambda: of([Page(bytes(MANY), ROWS)], codec="brotli"),
    "a page, version 2": lambda: of([Page(bytes(MANY), ROWS, DATA_V2)]),
    "a page that says so": lambda: of([Page(numbers(ROWS), ROWS, says={2: 2**31 - 1})]),
    "a page of a negative size": lambda: of([Page(numbers(ROWS), ROWS, says={2: -1})]),
    "a page beyond its chunk": lambda: of([Page(numbers(ROWS), ROWS, says={3: 2**31 - 1})]),
    "a page of too many values": lambda: of([ONE, same(BILLION)]),
    "too few values": lambda: of([Page(numbers(1), 1)], values=1),
    "fewer values than rows": lambda: of([Page(numbers(1), 1)]),
    "more values than rows": lambda: of([ONE, same(BILLION)], values=BILLION),
    "a dictionary": lambda: of([Page(bytes(MANY), MANY // 8, DICTIONARY), same(ROWS)]),
    "a dictionary of empty texts": lambda: of(
        [Page(bytes(MANY), MANY // 4, DICTIONARY), same(ROWS)], TEXT
    ),
    "a dictionary that says so": lambda: of(
        [Page(texts(b"1"), 2**31 - 1, DICTIONARY), same(ROWS)], TEXT
    ),
    "texts without bytes": lambda: in_parts(
        [leaf("y", FIXED) | {2: 0}],
        [(ROWS, [Chunk("y", FIXED, ROWS, [Page(b"", 2**31 - 1, DICTIONARY), same(ROWS)])])],
        1,
    ),
    "hidden lengths": lambda: of([Page(delta_zeros(MANY), ROWS, encoding=DELTA_LENGTHS)], TEXT),
    "hidden prefixes": lambda: of([Page(2 * delta_zeros(MANY), ROWS, encoding=DELTA_TEXTS)], TEXT),
    "a long text in many rows": lambda: of([LONG, same(ROWS)], TEXT),
    "a long text in many rows, by prefixes": lambda: repeated("DELTA_BYTE_ARRAY"),
    "a long text in many rows, one by one": lambda: repeated("DELTA_LENGTH_BYTE_ARRAY"),
    "a long list of numbers": lambda: long_list(INT64, ONE, MANY),
    "a long list of long texts": lambda: long_list(TEXT, LONG, 5_000),
    "many columns": lambda: wide(500, 65_536),
    "columns that overlap": lambda: overlapping(1000, 10_000),
    "row groups without rows": lambda: empty_groups(5_000),
    "a list in the footer": lambda: ended(MAGIC, b"\x15\4\x19\xfc" + varint(1 << 24)),
    "row groups in the footer": lambda: list_of_groups(1 << 24),
    "a schema of many elements": lambda: in_parts([leaf("a", INT64)] * 10_000, [(0, [])], 1),
    # pyarrow ends the process where it is asked to describe such a column.
    "levels that aren't there": lambda: described({16: {2: [I64(1), I64(2)]}}),
    "a dictionary elsewhere": lambda: described({11: 1}),
    "a deep schema": lambda: in_parts([*[{3: 0, 4: b"g", 5: 1}] * 5_000], [(0, [])], 1),
}


def said_of(data: bytes) -> str:
    """Return the code that a file is rejected with."""
    schema = LISTS if b"list" in data else SCHEMA
    try:
        read_predictions(data, schema, ROW_IDS, LIMITS)
    except PredictionError as error:
        return error.problems[0].code
    return "read"


def most(data: bytes) -> int:
    """The memory that reading a file may take."""
    text = min(max(LIMITS.max_ratio * len(data), 2**20), LIMITS.max_expanded_bytes)
    return 6 * text + SPARE


def peak(data: bytes) -> int:
    before = settled()
    said_of(data)
    return memory("VmHWM") - before


if __name__ == "__main__":
    said_of(of([ONE, same(ROWS)]))  # so that the code is there
    for name, write in LIES.items():
        data = write()
        sys.stdout.write(f"{peak(data) / most(data):.2f} {said_of(data)} {name}\n")
