"""The ids that a competition's files have to contain, in the order of the sample file."""

import difflib
import hashlib
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.errors import Problem, SolutionError
from scoring.predictions.lookup import MAX_WORDS, Lookup, keys_of, words_needed
from scoring.predictions.packing import Damaged, pack, unpack

Positions = NDArray[np.int64]
Rows = NDArray[Any]

# The one way to write an integer that needs no more than 18 digits.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
# Every other way: spaces and tabs around it, a plus, zeros before it.
_ANY_INTEGER = r"^[ \t]*(?:\+|(-))?0*([0-9]+)[ \t]*$"
_SPARSEST = 8
_SUGGESTED_IDS = 5_000


class RowIds:
    """The expected ids: integers, compared as numbers, or texts, compared exactly.

    They are integers if all are written as integers are ('7', not '007'); a file may then have
    '007' for '7'. Immutable. Files of another order are aligned by `permutation`: by looking up
    the row of each number in an array, or by hash. What that needs is kept for the next file.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        """Raises ValueError unless the ids are different texts, at least one."""
        texts = ids if isinstance(ids, pa.StringArray) else pa.array(ids, pa.string())
        if not len(texts) or texts.null_count or len(pc.unique(texts)) < len(texts):
            raise ValueError("row ids are different texts, at least one")
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, row: int) -> str:
        return str(self._texts[row].as_py())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowIds) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<RowIds: {len(self)} rows, {self.digest[:12]}>"

    @cached_property
    def digest(self) -> str:
        """SHA-256, hex, of the ids in their order."""
        offsets, characters = self._buffers()
        digest = hashlib.sha256(b"holdfast row ids 1\0")
        digest.update(offsets.astype("<i8").tobytes())
        digest.update(characters.tobytes())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """A compact form for caches: the characters, and where each id starts."""
        offsets, characters = self._buffers()
        return pack({"offsets": offsets.astype("<i4"), "characters": characters})

    @classmethod
    def from_bytes(cls, data: bytes) -> "RowIds":
        """The inverse of `to_bytes`. Raises SolutionError for anything else."""
        try:
            return cls(_texts(unpack(data)))
        except (Damaged, ValueError, KeyError) as error:  # pyarrow's ArrowInvalid is a ValueError
            problem = Problem("row_ids_damaged", "The stored row ids can't be read back.")
            raise SolutionError([problem]) from error

    @cached_property
    def are_integers(self) -> bool:
        """Whether all ids are integers of at most 18 digits in their shortest form."""
        return bool(pc.all(pc.match_substring_regex(self._texts, _INTEGER)).as_py())

    def in_order(self, ids: pa.ChunkedArray) -> bool:
        """Whether a file has exactly these ids in this order. `ids`: texts, or int64."""
        if pa.types.is_integer(ids.type):
            return np.array_equal(ids.to_numpy(), self._numbers)
        return bool(ids.equals(pa.chunked_array([self._texts])))

    def permutation(self, ids: pa.ChunkedArray) -> Rows | None:
        """Of each id of a file, its row here; None unless each of ours is there exactly once.

        `ids`: texts, or int64 if ours are integers.
        """
        if len(ids) != len(self):
            return None
        rows = self._rows(ids)
        if rows is None or rows.min() < 0:
            return None
        seen = np.zeros(len(self), dtype=np.bool_)
        seen[rows] = True
        return rows if seen.all() else None

    def positions(self, ids: "pa.ChunkedArray | pa.StringArray") -> Positions:
        """Of each text, its row here; -1 for an unknown one."""
        texts = _shortest(ids) if self.are_integers else ids
        found = pc.index_in(texts, value_set=self._texts)
        return np.asarray(pc.fill_null(found, -1), dtype=np.int64)

    def nearest(self, text: str) -> str | None:
        """The id that an unknown text probably stands for."""
        for meant in dict.fromkeys((text.strip(), _plain_integer(text))):
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
        """Offsets (len + 1 of them, from 0) and characters of all ids."""
        _, offsets, characters = self._texts.buffers()
        start = self._texts.offset
        ends = np.frombuffer(offsets, np.int32)[start : start + len(self) + 1]
        whole = np.frombuffer(characters or b"", np.uint8)
        return ends - ends[0], whole[ends[0] : ends[-1]]

    def _rows(self, ids: pa.ChunkedArray) -> Rows | None:
        if pa.types.is_integer(ids.type):
            return self._rows_of_numbers(ids.to_numpy())
        if self._by_text is None or self.are_integers:
            return self.positions(ids)
        parts = [self._rows_of_texts(self._by_text, chunk) for chunk in ids.chunks]
        found = [part for part in parts if part is not None]
        return np.concatenate(found) if len(found) == len(parts) else None

    def _rows_of_texts(self, lookup: Lookup, texts: pa.StringArray) -> Rows | None:
        keys = keys_of(texts, self._words)
        return None if keys is None else lookup.rows(keys)

    def _rows_of_numbers(self, numbers: NDArray[np.int64]) -> Rows | None:
        smallest, rows = self._smallest, self._by_distance
        if rows is None:
            return self._by_number.rows(numbers.view(np.uint64)[:, np.newaxis])
        if numbers.min() < smallest or numbers.max() >= smallest + len(rows):
            return None
        return rows[numbers - smallest if smallest else numbers]

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        return np.asarray(pc.cast(self._texts, pa.int64()))

    @cached_property
    def _smallest(self) -> int:
        return int(self._numbers.min())

    @cached_property
    def _by_distance(self) -> Rows | None:
        """Of each number from the smallest id the row (-1: none), unless ids lie far apart."""
        span = int(self._numbers.max()) - self._smallest + 1
        if span > _SPARSEST * len(self) + 1024:
            return None
        rows = np.full(span, -1, dtype=np.int32)
        rows[self._numbers - self._smallest] = np.arange(len(self), dtype=np.int32)
        return rows

    @cached_property
    def _by_number(self) -> Lookup:
        return Lookup(self._numbers.view(np.uint64)[:, np.newaxis])

    @cached_property
    def _words(self) -> int:
        return words_needed(self._texts)

    @cached_property
    def _by_text(self) -> Lookup | None:
        """None for long texts, and for those that padding could make equal."""
        has_nul = pc.any(pc.match_substring(self._texts, "\0")).as_py()
        if self._words > MAX_WORDS or has_nul:
            return None
        keys = keys_of(self._texts, self._words)
        return None if keys is None else Lookup(keys.copy())


def _shortest(texts: Any) -> Any:
    """Integers in any notation that is read as one ('007', '+7', ' 7') in their shortest form."""
    plain = pc.replace_substring_regex(texts, _ANY_INTEGER, r"\1\2")
    return pc.replace_substring_regex(plain, "^-0$", "0")


def _plain_integer(text: str) -> str:
    """'007' and '7.0' as '7'; anything else without the spaces around it."""
    plain = text.strip()
    found = re.fullmatch(r"\+?(-?)0*([0-9]{1,18})(\.0*)?", plain)
    return found[1] + found[2] if found else plain


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
