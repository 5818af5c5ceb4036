"""Lists of class codes, or of the bytes of texts, of different lengths, one for each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PART = 1 << 16

# Where the rows of a part belong: one after the other, or each in a row of its own.
Place = slice | NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Lists:
    """The classes of each row, as codes: row i has codes[offsets[i]:offsets[i + 1]].

    offsets: int64, rows + 1 of them, from 0. codes: int32; ascending in each row of "labels", the
    best first in each row of a "ranking". Of a "text" they are uint8, its answers in UTF-8, with a
    byte between that UTF-8 doesn't have. Indexing by a mask or by rows gives those rows' lists.
    """

    offsets: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of_lengths(cls, lengths: NDArray[Any], codes: NDArray[np.int32]) -> "Lists":
        """Return lists of these lengths, whose codes follow each other."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, codes)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def are_texts(self) -> bool:
        """Return whether rows are texts: so long that no array may have a number for each byte."""
        return self.codes.dtype == np.uint8

    def __getitem__(self, rows: NDArray[Any]) -> "Lists":
        if self.are_texts:
            return self._texts(np.arange(len(self))[rows])
        starts, lengths = self.offsets[:-1][rows], self.lengths[rows]
        chosen = Lists.of_lengths(lengths, np.empty(lengths.sum(), np.int32))
        offsets, codes = chosen.offsets, chosen.codes
        for first in range(0, len(lengths), _PART):  # a part at a time, to spare memory
            part = slice(first, first + _PART)
            start, end = offsets[:-1][part][0], offsets[1:][part][-1]
            shifts = np.repeat(starts[part] - offsets[:-1][part], lengths[part])
            codes[start:end] = self.codes[shifts + np.arange(start, end)]
        return chosen

    def _texts(self, rows: NDArray[Any]) -> "Lists":
        bounds = zip(self.offsets[:-1][rows].tolist(), self.offsets[1:][rows].tolist(), strict=True)
        data = memoryview(self.codes)  # type: ignore[arg-type]
        joined = b"".join(data[start:end] for start, end in bounds)
        return Lists.of_lengths(self.lengths[rows], np.frombuffer(joined, np.uint8))

    @classmethod
    def joined(cls, parts: "Sequence[Lists]") -> "Lists":
        lengths = [part.lengths for part in parts] or [np.zeros(0, np.int64)]
        codes = [part.codes for part in parts] or [np.zeros(0, np.int32)]
        return cls.of_lengths(np.concatenate(lengths), np.concatenate(codes))

    @classmethod
    def placed(cls, parts: "list[tuple[Lists, Place]]") -> "Lists":
        """Join the rows of several parts, each at its place: all places are all rows, once.

        Takes the parts out of the list, to spare memory.
        """
        lengths = np.empty(sum(len(part) for part, _ in parts), np.int32)
        for part, rows in parts:
            lengths[rows] = np.diff(part.offsets)
        whole = cls.of_lengths(lengths, np.empty(lengths.sum(dtype=np.int64), np.int32))
        while parts:
            part, rows = parts.pop()
            for first in range(0, len(part), _PART):  # a part at a time, to spare memory
                ends = part.offsets[first : first + _PART + 1]
                if isinstance(rows, slice):
                    last = min(rows.start + first + _PART, rows.stop)
                    some: Place = slice(rows.start + first, last)
                else:
                    some = rows[first : first + _PART]
                shifts = whole.offsets[some] - ends[:-1]
                places = np.repeat(shifts, np.diff(ends))
                places += np.arange(ends[0], ends[-1])
                whole.codes[places] = part.codes[ends[0] : ends[-1]]
        return whole

    def compact(self) -> "Lists":
        """Return the same in half the memory, while it waits: less than 2^31 codes below 2^16."""
        return Lists(self.offsets.astype(np.int32), self.codes.astype(np.uint16))

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the row of each code."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def ascending(self, classes: int) -> "Lists | None":
        """Return the same sets, the codes of each row ascending; None if a row has one twice."""
        # Numbers that order by row, then by code.
        dtype = np.int32 if len(self) * classes < 2**31 else np.int64
        firsts: NDArray[Any] = np.arange(len(self), dtype=dtype)
        firsts *= classes
        keys = np.repeat(firsts, self.lengths)
        keys += self.codes
        keys.sort()
        if np.any(keys[1:] == keys[:-1]):
            return None
        keys %= keys.dtype.type(classes)
        return Lists(self.offsets, keys.astype(np.int32, copy=False))

    def setflags(self, *, write: bool) -> None:
        """Set, as for an array, whether it may be written to."""
        self.offsets.setflags(write=write)
        self.codes.setflags(write=write)
