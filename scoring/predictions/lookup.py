"""Finds the rows of many keys or texts at once: a hash table of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.predictions.characters import bounds, columns_of, lengths_of

Word = NDArray[np.uint64]
Keys = Sequence[Word] | Word
Rows = NDArray[np.int64]

WORD = 8  # bytes
MAX_WORDS = 8

_EMPTY = np.uint64(0)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Lookup:
    """The row of each of different keys, by open addressing with linear probing.

    keys: an array for each word of a key. A slot holds row + 1 and, above it, half of the key's
    hash; at most half of the slots is taken. Keys are compared whole in the end, all at once.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._bits = max(4, (2 * len(keys[0]) - 1).bit_length())
        self._slots = np.zeros(1 << self._bits, np.uint64)
        self._fill()

    def rows(self, keys: Keys) -> Rows:
        """Return the row of each key; -1 for an unknown one."""
        hashes = _hashes(keys)
        slots = self._home(hashes)
        found = self._slots.take(slots)
        missed = np.flatnonzero((found ^ hashes) > _LOW)
        self._probe(missed, slots, found, hashes)
        rows = (found & _LOW).astype(np.int64) - 1
        # In practice all of them: two keys with the same half of a hash are rarely neighbours.
        while len(others := np.flatnonzero((rows >= 0) & self._differ(rows, keys))):
            self._step(others, slots, found)
            self._probe(others[(found[others] ^ hashes[others]) > _LOW], slots, found, hashes)
            rows[others] = (found[others] & _LOW).astype(np.int64) - 1
        return rows

    def _probe(self, missed: Rows, slots: Rows, found: Word, hashes: Word) -> None:
        """Go on from slot to slot until it is one of the key's hash or an empty one."""
        missed = missed[found[missed] != _EMPTY]
        while len(missed):
            self._step(missed, slots, found)
            again = found[missed]
            missed = missed[((again ^ hashes[missed]) > _LOW) & (again != _EMPTY)]

    def _step(self, rows: Rows, slots: Rows, found: Word) -> None:
        slots[rows] = self._next(slots[rows])
        found[rows] = self._slots[slots[rows]]

    def _differ(self, rows: Rows, keys: Keys) -> NDArray[np.bool_]:
        differ = np.zeros(len(rows), np.bool_)
        for ours, theirs in zip(self._keys, keys, strict=True):
            differ |= ours.take(rows, mode="wrap") != theirs
        return differ

    def _fill(self) -> None:
        """Put each key into the first free slot from its home; of several, one gets it."""
        hashes = _hashes(self._keys)
        slots = self._home(hashes)
        entries = (hashes & ~_LOW) | np.arange(1, len(hashes) + 1, dtype=np.uint64)
        while len(entries):
            free = self._slots[slots] == _EMPTY
            self._slots[slots[free]] = entries[free]
            waits = self._slots[slots] != entries
            entries, slots = entries[waits], self._next(slots[waits])

    def _home(self, hashes: Word) -> Rows:
        return (hashes & np.uint64((1 << self._bits) - 1)).astype(np.int64)

    def _next(self, slots: Rows) -> Rows:
        return (slots + 1) & ((1 << self._bits) - 1)


class TextLookup:
    """The row of each of different texts without NUL, of at most `MAX_WORDS` words."""

    def __init__(self, texts: pa.StringArray) -> None:
        """Fill the table. `takes` has to be true of the texts."""
        lengths = lengths_of(texts)
        self._longest = int(lengths.max(initial=0))
        self._same = self._longest >= WORD and bool(np.all(lengths == self._longest))
        self._lookup = Lookup(self._keys(texts))

    @classmethod
    def takes(cls, texts: pa.StringArray) -> bool:
        """Return whether all are short, and none is like another with NULs after it."""
        has_nul = pc.any(pc.match_substring(texts, "\0")).as_py()
        return not has_nul and int(lengths_of(texts).max(initial=0)) <= MAX_WORDS * WORD

    def rows(self, texts: pa.StringArray) -> Rows:
        """Return the row of each text; -1 for an unknown one."""
        lengths = lengths_of(texts)
        fits = lengths == self._longest if self._same else lengths <= self._longest
        if fits.all():
            return self._lookup.rows(self._keys(texts))
        rows = np.full(len(texts), -1, np.int64)
        rows[fits] = self._lookup.rows(self._keys(texts.filter(pa.array(fits))))
        return rows

    def _keys(self, texts: pa.StringArray) -> Keys:
        if self._same:  # the last word may overlap the one before
            last = self._longest - WORD
            places = [*range(0, last, WORD), last]
            return [columns_of(texts, self._longest, place, np.uint64).copy() for place in places]
        words = max(1, -(-self._longest // WORD))
        padded = pc.ascii_rpad(texts, words * WORD, "\0")
        start, end, characters = bounds(padded)
        whole: NDArray[Any] = characters[start:end].view(np.uint64).reshape(len(texts), words)
        return [np.ascontiguousarray(whole[:, word]) for word in range(words)]


def _hashes(keys: Keys) -> Word:
    mixed = keys[0] * _ODD
    for word in keys[1:]:
        mixed ^= mixed >> _HALF
        mixed += word
        mixed *= _ODD
    mixed ^= mixed >> _HALF
    mixed *= _ODD
    mixed ^= mixed >> _HALF
    return mixed
