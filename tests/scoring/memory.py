"""How much memory reading a file takes: run as processes of their own by `test_predictions_memory`.

    python -m tests.scoring.memory CASE...

Prints the peak of the resident memory above what the process had before, with the row ids and
their tables, less what libraries keep for each thread, as a multiple of the text.
"""

import gzip
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from scoring.errors import PredictionError, SolutionError
from scoring.predictions import (
    Column,
    RowIds,
    Schema,
    fast,
    read_predictions,
    read_row_ids,
    read_solution,
)
from scoring.threads import thread_count
from tests.scoring.packed import in_parquet

SPARE = 8 * 2**20 * max(2, thread_count())  # bytes
RANDOM = np.random.default_rng(0)
LETTERS = np.array(list("abcdefghijkl"))
NUMBER = Column("y", "number")
LABELS = Column("y", "labels", tuple(LETTERS))
RANKING = Column("y", "ranking", tuple(LETTERS), most=len(LETTERS))


@dataclass(frozen=True)
class Case:
    """A kind of file: its column, its ids, its cells, how its lines are changed, how it is packed.

    size: of its text, in bytes. read: as what it is read.
    """

    column: Column
    ids: Callable[[int], Iterable[object]]
    cells: Callable[[int], Iterable[object]]
    pack: Callable[[bytes], bytes] = bytes
    is_shuffled: bool = True
    change: Callable[[list[str]], list[str]] = list
    size: int = 6_000_000
    read: Callable[[BinaryIO, Schema, RowIds], object] = read_predictions


def as_parquet(text: bytes) -> bytes:
    header, *rows = text.decode().split()
    values = np.array([row.split(",") for row in rows], np.int64).T
    return in_parquet(dict(zip(header.split(","), values, strict=True)))


def short_lists(rows: int) -> list[str]:
    """A few letters a row."""
    return [" ".join(LETTERS[chosen]) for chosen in RANDOM.random((rows, len(LETTERS))) < 0.3]


def full_rankings(rows: int) -> list[str]:
    orders = RANDOM.permuted(np.tile(np.arange(len(LETTERS)), (rows, 1)), axis=1)
    return [" ".join(LETTERS[order]) for order in orders]


def hashes(rows: int) -> list[str]:
    return [f"{number:016x}" for number in RANDOM.integers(0, 2**62, rows)]


def constant(cell: str) -> Callable[[int], list[str]]:
    return lambda rows: [cell] * rows


def last_wrong(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace("\n", "x\n")]


def twice(line: str) -> Callable[[list[str]], list[str]]:
    """The same line all over, twice as often as rows are expected."""
    return lambda lines: [line] * (2 * len(lines))


def each(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda lines: [change(line) for line in lines]


def as_sample(file: BinaryIO, schema: Schema, row_ids: RowIds) -> object:
    return read_row_ids(file, schema)


GOOD = {
    "short rows": Case(NUMBER, range, constant("1"), is_shuffled=False),
    "short rows in another order": Case(NUMBER, range, constant("1")),
    "text ids": Case(NUMBER, hashes, constant("0.123456789")),
    "labels": Case(LABELS, range, short_lists),
    "a label a row": Case(LABELS, range, constant("a")),
    "rankings": Case(RANKING, range, full_rankings),
    "rankings of one": Case(RANKING, range, constant("a")),
    "gzip": Case(NUMBER, range, constant("1"), partial(gzip.compress, compresslevel=1)),
    "parquet": Case(NUMBER, range, constant("1"), as_parquet),
}
exactly = partial(Case, size=3_000_000)  # these take longer
WRONG = {
    "the last cell": Case(NUMBER, hashes, constant("1"), change=last_wrong),
    "an id all over": exactly(NUMBER, range, constant("1"), change=twice("7,0\n")),
    "blank ids": exactly(NUMBER, range, constant("1"), change=twice(",0\n")),
    "rows of three cells": exactly(NUMBER, range, constant("1"), change=twice("7,0,0\n")),
    "lists with spaces": exactly(LABELS, range, constant("a  b")),
    "a solution": exactly(LABELS, range, constant("a"), read=read_solution),
    "a sample of one id": exactly(
        NUMBER, range, constant("1"), change=twice("7,0\n"), read=as_sample
    ),
}
CASES = GOOD | WRONG


def peak(case: Case) -> float:
    """Above what was there before, as a multiple of the text."""
    read(case, *body(case, 100))  # so that the code is there
    ids, text = body(case, 1000 * case.size // len(body(case, 1000)[1]))
    return (read(case, ids, text) - SPARE) / len(text)


def read(case: Case, ids: list[str], text: bytes) -> int:
    """The bytes at the peak of reading a file."""
    row_ids, schema = RowIds(ids), Schema("i", (case.column,))
    row_ids.positions(pa.array([ids[0], "unknown"]))  # makes the tables that are kept
    row_ids.places(pa.chunked_array([ids[:1]]), 0)
    with TemporaryFile() as file:
        file.write(case.pack(text))
        file.seek(0)
        del text, ids
        before = settled()
        with suppress(PredictionError, SolutionError):
            case.read(file, schema, row_ids)
    return memory("VmHWM") - before


def body(case: Case, rows: int) -> tuple[list[str], bytes]:
    ids = list(map(str, case.ids(rows)))
    lines = [f"{name},{cell}\n" for name, cell in zip(ids, case.cells(rows), strict=True)]
    if case.is_shuffled:
        lines = [lines[row] for row in RANDOM.permutation(rows)]
    return ids, ("i,y\n" + "".join(case.change(lines))).encode()


def settled() -> int:
    """The memory that is in use, once everything that isn't has been given back."""
    fast.give_memory_back()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    return memory("VmRSS")


def memory(name: str) -> int:
    """Bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":")) * 1024


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(f"{peak(CASES[name]):.2f}\n")
