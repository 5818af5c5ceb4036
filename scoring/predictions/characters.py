"""Texts as the arrays that they are stored in, and rows of texts by what their characters count.

Most ids are written by a program: of one length, with a few digits that run through all values.
Their rows are found in an array, without hashing and without comparing.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LONGEST = 32  # characters; of more, hashing takes no longer

_PAIR = 2
_SPARSEST = 8
_PART = 1 << 16
_BYTES = 256


def bounds(texts: pa.StringArray) -> tuple[int, int, NDArray[np.uint8]]:
    """Where the characters of all texts start and end, in bytes, and the array that they are in."""
    _, _, characters = texts.buffers()
    ends = ends_of(texts)
    return int(ends[0]), int(ends[-1]), np.frombuffer(characters or b"", np.uint8)


def ends_of(texts: pa.StringArray) -> NDArray[np.int32]:
    """Where each text starts, and the last one ends: len + 1 of them."""
    start = texts.offset
    return np.frombuffer(texts.buffers()[1], np.int32)[start : start + len(texts) + 1]


def lengths_of(texts: pa.StringArray) -> NDArray[np.int32]:
    """The bytes of each text."""
    return np.diff(ends_of(texts))


def columns_of(texts: pa.StringArray, length: int, place: int, dtype: Any) -> NDArray[Any]:
    """The bytes from `place` on of each text, as a number of that type; without a copy.

    All texts have `length` bytes.
    """
    if not len(texts):
        return np.empty(0, dtype)
    start, _, characters = bounds(texts)
    return np.ndarray((len(texts),), dtype, characters, start + place, (length,))


class Odometer:
    """The row of each of different texts of one length, by a number made of its characters.

    Where a place has k different characters, each has a digit below k; the digits of all places
    make a number, as on an odometer, whose row an array has. A character that a place doesn't
    have makes the number negative.
    """

    def __init__(self, texts: pa.StringArray, length: int, used: NDArray[np.bool_]) -> None:
        """used: (length, 256), which characters each place has."""
        self._length = length
        digits = _digits(used)
        self._tables = [
            (place, _pair(digits[place : place + _PAIR])) for place in range(0, length, _PAIR)
        ]
        self._rows = np.full(_span(used), -1, np.int32)
        for start in range(0, len(texts), _PART):
            numbers = self._numbers(texts[start : start + _PART])
            self._rows[numbers] = np.arange(start, start + len(numbers), dtype=np.int32)

    @classmethod
    def of(cls, texts: pa.StringArray) -> "Odometer | None":
        """None for texts of several lengths, for long ones, and where most numbers have no text."""
        lengths = lengths_of(texts)
        length = int(lengths[0])
        if not 1 <= length <= LONGEST or np.any(lengths != length):
            return None
        used = np.zeros((length, _BYTES), np.bool_)
        for place in range(length):
            used[place, columns_of(texts, length, place, np.uint8)] = True
        return cls(texts, length, used) if _span(used) <= _SPARSEST * len(texts) + 1024 else None

    def rows(self, texts: pa.StringArray) -> NDArray[Any]:
        """The row of each text; -1 for an unknown one."""
        fits = lengths_of(texts) == self._length
        if not fits.all():
            rows = np.full(len(texts), -1, np.int32)
            rows[fits] = self.rows(texts.filter(pa.array(fits)))
            return rows
        numbers = self._numbers(texts)
        if numbers.min(initial=0) >= 0:
            return self._rows.take(numbers)
        return np.where(numbers >= 0, self._rows.take(np.maximum(numbers, 0)), -1)

    def _numbers(self, texts: pa.StringArray) -> Integers:
        numbers = np.zeros(len(texts), np.int64)
        for place, table in self._tables:
            dtype = np.uint8 if len(table) == _BYTES else np.dtype("<u2")
            numbers += table.take(columns_of(texts, self._length, place, dtype))
        return numbers


def _span(used: NDArray[np.bool_]) -> int:
    """How many numbers the characters can make."""
    span = 1
    for count in used.sum(axis=1):
        span *= int(count)
    return span


def _digits(used: NDArray[np.bool_]) -> Integers:
    """What each character at each place adds to the number: (length, 256)."""
    digits = np.empty(used.shape, np.int64)
    stride = 1
    for place in reversed(range(len(used))):
        digits[place] = stride * (np.cumsum(used[place]) - 1)
        stride *= int(used[place].sum())
    digits[~used] = -stride
    return digits


def _pair(digits: Integers) -> Integers:
    """What two characters add together, by the number that their bytes are (little-endian)."""
    sums: Integers = digits[0] if len(digits) == 1 else np.add.outer(digits[1], digits[0]).ravel()
    return sums
