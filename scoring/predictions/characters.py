"""Texts as the arrays that they are stored in, and rows of texts by what their characters count.

Most ids are written by a program: of one length, with a few digits that run through all values.
Their rows are found in an array, without hashing and without comparing.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LONGEST = 32  # characters; of more, hashing takes no longer

_PAIR = 2
_WORD = 8
_SPARSEST = 8
_PART = 1 << 16
_BYTES = 256


def bounds(texts: pa.StringArray) -> tuple[int, int, NDArray[np.uint8]]:
    """Return where the characters of all texts start and end, and the array that they are in."""
    _, _, characters = texts.buffers()
    ends = ends_of(texts)
    return int(ends[0]), int(ends[-1]), np.frombuffer(characters or b"", np.uint8)


def ends_of(texts: pa.StringArray) -> NDArray[np.int32]:
    """Return where each text starts, and the last one ends: len + 1 of them."""
    start = texts.offset
    return np.frombuffer(texts.buffers()[1], np.int32)[start : start + len(texts) + 1]


def lengths_of(texts: pa.StringArray) -> NDArray[np.int32]:
    """Return the bytes of each text."""
    return np.diff(ends_of(texts))


def columns_of(texts: pa.StringArray, length: int, place: int, dtype: Any) -> NDArray[Any]:
    """Return the bytes from `place` on of each text, as a number of that type; without a copy.

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
    have makes the number negative. Places with one character are compared, many at a time.
    """

    def __init__(self, texts: pa.StringArray, length: int, used: NDArray[np.bool_]) -> None:
        """Make the wheels. used: (length, 256), which characters each place has."""
        self._length = length
        turning = used.sum(axis=1) > 1
        # What each character at each place adds to the number.
        digits = np.empty(used.shape, np.int64)
        stride = 1
        for place in reversed(range(length)):
            digits[place] = stride * (np.cumsum(used[place]) - 1)
            stride *= int(used[place].sum())
        digits[~used] = -stride
        # What one or two characters add, by the number that their bytes are (little-endian).
        self._wheels: list[tuple[int, NDArray[Any]]] = []
        for place, size in _words(np.flatnonzero(turning), _PAIR):
            sums = digits[place]
            if size == _PAIR:
                sums = np.add.outer(digits[place + 1], sums).ravel()
            fits = np.abs(sums).max() <= np.iinfo(np.int32).max  # half as much to keep at hand
            self._wheels.append((place, sums.astype(np.int32) if fits else sums))
        self._fixed = [
            (place, columns_of(texts[:1], length, place, f"<u{size}")[0])
            for place, size in _words(np.flatnonzero(~turning), _WORD)
        ]
        self._rows = np.full(stride, -1, np.int32)
        for start in range(0, len(texts), _PART):
            numbers = self._numbers(texts[start : start + _PART])
            self._rows[numbers] = np.arange(start, start + len(numbers), dtype=np.int32)
        # Up to here a number is its row: the ids count up from the first one on.
        is_counted = np.array_equal(self._rows[: len(texts)], np.arange(len(texts)))
        self._counted = len(texts) if is_counted else 0

    @classmethod
    def of(cls, texts: pa.StringArray) -> "Odometer | None":
        """Return None for texts of several lengths, long ones, and mostly empty numbers."""
        lengths = lengths_of(texts)
        length = int(lengths[0])
        if not 1 <= length <= LONGEST or np.any(lengths != length):
            return None
        used = np.zeros((length, _BYTES), np.bool_)
        for place in range(length):
            used[place, columns_of(texts, length, place, np.uint8)] = True
        span = math.prod(map(int, used.sum(axis=1)))  # how many numbers the characters can make
        return cls(texts, length, used) if span <= _SPARSEST * len(texts) + 1024 else None

    def rows(self, texts: pa.StringArray) -> NDArray[Any]:
        """Return the row of each text; -1 for an unknown one."""
        fits = lengths_of(texts) == self._length
        if not fits.all():
            rows = np.full(len(texts), -1, np.int32)
            rows[fits] = self.rows(texts.filter(pa.array(fits)))
            return rows
        numbers = self._numbers(texts)
        lowest, highest = numbers.min(initial=0), numbers.max(initial=0)
        if lowest >= 0 and highest < self._counted:
            return numbers
        if lowest >= 0:
            return self._rows.take(numbers)
        return np.where(numbers >= 0, self._rows.take(np.maximum(numbers, 0)), -1)

    def _numbers(self, texts: pa.StringArray) -> Integers:
        numbers: Integers = np.zeros(len(texts), np.int64)
        for place, sums in self._wheels:
            dtype = np.uint8 if len(sums) == _BYTES else np.dtype("<u2")
            numbers += sums.take(columns_of(texts, self._length, place, dtype))
        for place, characters in self._fixed:
            differ = columns_of(texts, self._length, place, characters.dtype) != characters
            if differ.any():
                numbers[differ] = -1
        return numbers


def _words(places: Integers, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the places in runs of 1, 2, 4 … of them, up to `longest`: start and size of each."""
    rest = places.tolist()
    while rest:
        size = longest
        while rest[size - 1 : size] != [rest[0] + size - 1]:
            size //= 2
        yield rest[0], size
        del rest[:size]
