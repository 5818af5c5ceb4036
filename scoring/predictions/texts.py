"""Answers in words as bytes: those of a row in UTF-8, with a byte between that UTF-8 never has."""

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.predictions.lists import Lists

LONGEST: Final = 100_000  # characters of all answers of a row
_BREAK: Final = b"\xff"


def encode(answers: Sequence[str]) -> bytes:
    """Return the bytes of a row's answers, at least one."""
    return _BREAK.join(each.encode("utf-8", "surrogatepass") for each in answers)


def decode(row: bytes) -> list[str]:
    """Invert `encode`; half characters, which JSON can write, are replaced."""
    return [each.decode("utf-8", "replace") for each in row.split(_BREAK)]


def of_row(texts: Lists, place: int) -> list[str]:
    """Return the answers of a row."""
    start, end = texts.offsets[place : place + 2]
    return decode(texts.codes[start:end].tobytes())


def rows(texts: Lists) -> Iterator[list[str]]:
    """Yield the answers of each row."""
    return (of_row(texts, place) for place in range(len(texts)))


def codes(texts: Lists) -> NDArray[np.uint64]:
    """Return 64 bits for each row, by its answers: of two files they differ where these do."""
    ends = zip(texts.offsets[:-1].tolist(), texts.offsets[1:].tolist(), strict=True)
    data = memoryview(texts.codes)  # type: ignore[arg-type]
    hashes = (blake2b(data[start:end], digest_size=8).digest() for start, end in ends)
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)


def count(texts: Lists) -> NDArray[Any]:
    """Return how many answers each row has."""
    breaks = np.flatnonzero(texts.codes == _BREAK[0])
    of_breaks = np.searchsorted(texts.offsets, breaks, side="right") - 1
    return 1 + np.bincount(of_breaks, minlength=len(texts))


def of_run(texts: Lists, run: int) -> Lists:
    """Return the answers of one run, from 0; each row has that many."""
    chosen = [encode(answers[run : run + 1]) for answers in rows(texts)]
    lengths = np.array([len(each) for each in chosen], np.int64)
    return Lists.of_lengths(lengths, np.frombuffer(b"".join(chosen), np.uint8))


def split(cell: str) -> list[str]:
    """Return the texts of a cell that is a JSON list of them; else the cell is one text."""
    if cell.lstrip().startswith("["):
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            return [cell]
        if found and all(isinstance(each, str) for each in found):
            return list(found)
    return [cell]
