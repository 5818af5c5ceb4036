"""Finds the rows of many keys at once: a hash table of arrays."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]

MAX_WORDS = 8

_WORD = 8
_EMPTY = np.uint64(0)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Lookup:
    """The row of each of different keys, by open addressing with linear probing.

    keys: uint64, (rows, words). A slot holds row + 1 and, above it, half of the key's hash; at
    most a quarter of the slots is taken. Keys are compared whole in the end, all at once.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._bits = max(4, (4 * len(keys) - 1).bit_length())
        self._slots = np.zeros(1 << self._bits, np.uint64)
        self._fill()

    def rows(self, keys: Keys) -> Rows | None:
        """The row of each key; None if one is unknown.

        None as well, once in thousands of tables, where two keys near each other have the same
        half of a hash.
        """
        hashes = _hashes(keys)
        slots = self._home(hashes)
        found = np.take(self._slots, slots)
        missed = np.flatnonzero((found ^ hashes) > _LOW)
        while len(missed):
            next_slots = self._next(slots[missed])
            again = np.take(self._slots, next_slots)
            if not again.all():
                return None
            slots[missed], found[missed] = next_slots, again
            missed = missed[(again ^ hashes[missed]) > _LOW]
        rows = (found & _LOW).astype(np.int64) - 1
        if rows.min(initial=0) < 0:
            return None
        return rows if np.array_equal(np.take(self._keys, rows, axis=0), keys) else None

    def _fill(self) -> None:
        """Each key goes to the first free slot from its home; of several, one gets it."""
        hashes = _hashes(self._keys)
        slots = self._home(hashes)
        entries = (hashes & ~_LOW) | np.arange(1, len(hashes) + 1, dtype=np.uint64)
        while len(entries):
            free = self._slots[slots] == _EMPTY
            self._slots[slots[free]] = entries[free]
            waits = self._slots[slots] != entries
            entries, slots = entries[waits], self._next(slots[waits])

    def _home(self, hashes: Keys) -> Rows:
        return (hashes & np.uint64((1 << self._bits) - 1)).astype(np.int64)

    def _next(self, slots: Rows) -> Rows:
        return (slots + 1) & ((1 << self._bits) - 1)


def _hashes(keys: Keys) -> Keys:
    mixed = keys[:, 0] * _ODD
    for word in range(1, keys.shape[1]):
        mixed ^= mixed >> _HALF
        mixed += keys[:, word]
        mixed *= _ODD
    mixed ^= mixed >> _HALF
    mixed *= _ODD
    mixed ^= mixed >> _HALF
    return mixed


def words_needed(texts: pa.StringArray) -> int:
    """How many words the longest text fills."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    return max(1, -(-longest // _WORD))


def keys_of(texts: pa.StringArray, words: int) -> Keys | None:
    """Texts without NUL as keys of so many words; None if one is longer."""
    width = words * _WORD
    padded = pc.ascii_rpad(texts, width, "\0")
    _, offsets, characters = padded.buffers()
    ends = np.frombuffer(offsets, np.int32)[padded.offset : padded.offset + len(padded) + 1]
    if int(ends[-1]) - int(ends[0]) != width * len(padded):
        return None
    whole: NDArray[Any] = np.frombuffer(characters or b"", np.uint8)[ends[0] : ends[-1]]
    return whole.view(np.uint64).reshape(len(padded), words)
