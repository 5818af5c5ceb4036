"""Finds the rows of many keys at once: a hash table of arrays."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]

WORD = 8  # bytes
MAX_WORDS = 8

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

    def rows(self, keys: Keys) -> Rows:
        """The row of each key; -1 for an unknown one."""
        hashes = _hashes(keys)
        slots = self._home(hashes)
        found = np.take(self._slots, slots)
        missed = np.flatnonzero((found ^ hashes) > _LOW)
        self._probe(missed, slots, found, hashes)
        rows = (found & _LOW).astype(np.int64) - 1
        # In practice all of them: two keys with the same half of a hash are rarely neighbours.
        while len(others := np.flatnonzero((rows >= 0) & self._differ(rows, keys))):
            self._step(others, slots, found)
            self._probe(others[(found[others] ^ hashes[others]) > _LOW], slots, found, hashes)
            rows[others] = (found[others] & _LOW).astype(np.int64) - 1
        return rows

    def _probe(self, missed: Rows, slots: Rows, found: Keys, hashes: Keys) -> None:
        """Goes on from slot to slot until it is one of the key's hash or an empty one."""
        missed = missed[found[missed] != _EMPTY]
        while len(missed):
            self._step(missed, slots, found)
            again = found[missed]
            missed = missed[((again ^ hashes[missed]) > _LOW) & (again != _EMPTY)]

    def _step(self, rows: Rows, slots: Rows, found: Keys) -> None:
        slots[rows] = self._next(slots[rows])
        found[rows] = self._slots[slots[rows]]

    def _differ(self, rows: Rows, keys: Keys) -> NDArray[np.bool_]:
        ours = np.take(self._keys, rows, axis=0, mode="wrap")
        differ: NDArray[np.bool_] = np.any(ours != keys, axis=1)
        return differ

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
    return max(1, -(-longest // WORD))


def keys_of(texts: pa.StringArray, words: int) -> Keys:
    """Texts without NUL, none longer than so many words, as keys."""
    width = words * WORD
    padded = pc.ascii_rpad(texts, width, "\0")
    _, offsets, characters = padded.buffers()
    ends = np.frombuffer(offsets, np.int32)[padded.offset : padded.offset + len(padded) + 1]
    whole: NDArray[Any] = np.frombuffer(characters or b"", np.uint8)[ends[0] : ends[-1]]
    return whole.view(np.uint64).reshape(len(padded), words)
