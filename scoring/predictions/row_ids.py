"""The ids that a competition's files have to contain, in the order of the sample file."""

import difflib
import hashlib
import re
from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.errors import Problem, SolutionError
from scoring.predictions.characters import Odometer, bounds, ends_of
from scoring.predictions.lists import Place
from scoring.predictions.lookup import Lookup, TextLookup
from scoring.predictions.packing import Damaged, pack, unpack
from scoring.predictions.repeats import repeats
from scoring.threads import spread

Rows = NDArray[np.int32]

# The one way to write an integer that needs no more than 18 digits.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
# Every other way: spaces and tabs around it, a plus, zeros before it.
_ANY_INTEGER = r"^[ \t]*(?:\+|(-))?0*([0-9]+)[ \t]*$"
_SPARSEST = 8
_PART = 1 << 16
_ALONE = 4  # parts that one thread finds sooner than several
_SUGGESTED_IDS = 5_000


class RowIds:
    """The expected ids: integers, compared as numbers, or texts, compared exactly.

    They are integers if all are written as integers are ('7', not '007'); a file may then have
    '007' for '7'. Immutable. Files of another order are aligned by looking up the row of each
    number in an array, or by hash. What that needs is kept for the next file.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        """Raise ValueError unless the ids are different texts, at least one."""
        texts = ids if isinstance(ids, pa.StringArray) else pa.array(ids, pa.string())
        if not len(texts) or texts.null_count or repeats(texts).any():
            raise ValueError("row ids are different texts, at least one")
        self._texts = texts
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, row: int) -> str:
        return str(self._texts[row].as_py())

    def values(self, rows: NDArray[Any]) -> pa.Array:
        """Return the ids of some rows: int64 if all of ours are integers, else texts."""
        if self.are_integers:
            return pa.array(self._numbers[rows])
        return self._texts.take(pa.array(rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowIds) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<RowIds: {len(self)} rows, {self.digest[:12]}>"

    @cached_property
    def digest(self) -> str:
        """Return SHA-256, hex, of the ids in their order."""
        offsets, characters = self._buffers()
        digest = hashlib.sha256(b"holdfast row ids 1\0")
        for start in range(0, len(offsets), _PART):  # a part at a time, to spare memory
            digest.update(offsets[start : start + _PART].astype("<i8").data)
        digest.update(characters.data)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """Return a compact form for caches: the characters, and where each id starts."""
        offsets, characters = self._buffers()
        return pack({"offsets": offsets.astype("<i4"), "characters": characters})

    @classmethod
    def from_bytes(cls, data: bytes) -> "RowIds":
        """Invert `to_bytes`. Raise SolutionError for anything else."""
        try:
            return cls(_texts(unpack(data)))
        except (Damaged, ValueError, KeyError) as error:  # pyarrow's ArrowInvalid is a ValueError
            raise SolutionError([Problem("row_ids_damaged")]) from error

    @cached_property
    def are_integers(self) -> bool:
        """Return whether all ids are integers of at most 18 digits in their shortest form."""
        return bool(pc.all(pc.match_substring_regex(self._texts, _INTEGER)).as_py())

    @cached_property
    def has_tables(self) -> bool:
        """Return whether the rows of a few ids are found without looking at all of ours."""
        return self.are_integers or TextLookup.takes(self._texts)

    def places(self, ids: pa.ChunkedArray, first: int) -> Place | None:
        """Return where the rows of these ids are; None if one is unknown. `ids`: texts, or int64.

        Ids that are ours in our order, from the row `first` on, are known as such at once.
        """
        run = slice(first, first + len(ids))
        if not pa.types.is_integer(ids.type):
            is_run = ids.equals(pa.chunked_array([self._texts[run]], pa.string()))
        else:
            with self._lock:
                numbers = self._numbers
            is_run = np.array_equal(one_array(ids), numbers[run])
        if is_run:
            return run
        rows = self.positions(ids)
        return rows.astype(np.intp, copy=False) if rows.min(initial=0) >= 0 else None

    def positions(self, ids: "pa.ChunkedArray | pa.StringArray") -> NDArray[Any]:
        """Return the row of each id; -1 for an unknown one. A part at a time, to spare memory."""
        with self._lock:  # several threads read a file, and one is to make the tables
            _ = self._by_text if not self.are_integers else self._table
        if not self.are_integers and self._by_text is None:
            found = pc.fill_null(pc.index_in(ids, value_set=self._texts), -1)
            return np.asarray(found, dtype=np.int32)
        if len(ids) <= _PART:
            return self._rows(one_array(ids))
        rows = np.empty(len(ids), np.int32)

        def find(start: int) -> None:
            rows[start : start + _PART] = self._rows(one_array(ids.slice(start, _PART)))

        spread(find, range(0, len(ids), _PART), alone=_ALONE)
        return rows

    def nearest(self, text: str) -> str | None:
        """Return the id that an unknown text probably stands for."""
        found = re.fullmatch(r"\+?(-?)0*([0-9]{1,18})(\.0*)?", text.strip())  # 007 and 7.0 are 7
        for meant in (text.strip(), found[1] + found[2] if found else text):
            if meant != text and pc.index(self._texts, meant).as_py() >= 0:
                return meant
        if len(self) > _SUGGESTED_IDS or not text.strip():
            return None
        ids: list[str] = self._texts.to_pylist()
        cutoff = 0.75 if len(text) > 3 else 1.0  # nobody can say which of 17 and 71 is meant by 77
        folded = {each.casefold(): each for each in ids}
        near = difflib.get_close_matches(text.strip().casefold()[:100], folded, n=1, cutoff=cutoff)
        return folded[near[0]] if near else None

    def _buffers(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Return offsets (len + 1 of them, from 0) and characters of all ids."""
        ends = ends_of(self._texts)
        start, end, characters = bounds(self._texts)
        return ends - start, characters[start:end]

    def _rows(self, ids: pa.Array) -> NDArray[Any]:
        if pa.types.is_integer(ids.type):
            return self._rows_of_numbers(np.asarray(ids))
        if self._by_text is not None:
            return self._by_text.rows(ids)
        # Any notation that is read as an integer ('007', '+7', ' 7') in its shortest form.
        plain = pc.replace_substring_regex(ids, _ANY_INTEGER, r"\1\2")
        shortest = pc.replace_substring_regex(plain, "^-0$", "0")
        known = np.asarray(pc.match_substring_regex(shortest, _INTEGER))
        numbers = pc.cast(pc.filter(shortest, pa.array(known)), pa.int64())
        rows = np.full(len(ids), -1, np.int64)
        rows[known] = self._rows_of_numbers(np.asarray(numbers))
        return rows

    def _rows_of_numbers(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        if isinstance(table := self._table, Lookup):
            return table.rows([numbers.view(np.uint64)])
        smallest, largest = self._smallest, self._smallest + self._span - 1
        if len(numbers) and smallest <= numbers.min() and numbers.max() <= largest:
            distances = numbers - smallest
            return distances if table is None else table.take(distances)
        near = (smallest <= numbers) & (numbers <= largest)
        distances = np.where(near, numbers, smallest) - smallest
        return np.where(near, distances if table is None else table.take(distances), -1)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        return np.asarray(pc.cast(self._texts, pa.int64()))

    @cached_property
    def _smallest(self) -> int:
        return int(self._numbers.min())

    @cached_property
    def _span(self) -> int:
        return int(self._numbers.max()) - self._smallest + 1

    @cached_property
    def _table(self) -> Lookup | Rows | None:
        """Return the row of each number from the smallest id, -1 for none; of sparse ones a lookup.

        None needs no table: the ids are n, n + 1, n + 2 and so on, in this order.
        """
        if self._span > _SPARSEST * len(self) + 1024:
            return Lookup([self._numbers.view(np.uint64)])
        if self._span == len(self) and np.all(np.diff(self._numbers) == 1):
            return None
        rows = np.full(self._span, -1, dtype=np.int32)
        rows[self._numbers - self._smallest] = np.arange(len(self), dtype=np.int32)
        return rows

    @cached_property
    def _by_text(self) -> "Odometer | TextLookup | None":
        """Return None for integers, long texts, and those that padding could make equal."""
        if self.are_integers:
            return None
        if (odometer := Odometer.of(self._texts)) is not None:
            return odometer
        return TextLookup(self._texts) if self.has_tables else None


def one_array(ids: "pa.ChunkedArray | pa.Array") -> pa.Array:
    """Return the same values in one array; without a copy if they are."""
    if not isinstance(ids, pa.ChunkedArray):
        return ids
    return ids.chunk(0) if ids.num_chunks == 1 else ids.combine_chunks()


def _texts(arrays: dict[str, NDArray[Any]]) -> pa.StringArray:
    offsets, characters = arrays["offsets"], arrays["characters"]
    if set(arrays) != {"offsets", "characters"} or offsets.dtype != np.dtype("<i4"):
        raise Damaged("other arrays than expected")
    if characters.dtype != np.uint8 or len(offsets) < 2 or offsets[-1] != len(characters):
        raise Damaged("offsets that don't fit the characters")
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(characters.tobytes())]
    texts = pa.StringArray.from_buffers(len(offsets) - 1, *buffers[1:])
    texts.validate(full=True)
    return texts
