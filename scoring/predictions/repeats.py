"""Finds texts that are there several times, in little memory."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring.predictions.characters import bounds, ends_of

PART = 1 << 16

_SHARES = 16


def where(mask: NDArray[np.bool_]) -> Iterator[int]:
    """Yield the rows of a mask, a part at a time: a list of all may be larger than the file."""
    for start in range(0, len(mask), PART):
        yield from (start + np.flatnonzero(mask[start : start + PART])).tolist()


def repeats(texts: pa.StringArray) -> NDArray[np.bool_]:
    """Return whether each text is in a row before: a share at a time, which has all equal ones."""
    found = np.zeros(len(texts), np.bool_)
    shares = _shares(texts)
    for share in range(_SHARES):
        rows = np.flatnonzero(shares == share)
        codes = np.asarray(texts.take(pa.array(rows)).dictionary_encode().indices)
        highest = np.int32(-1)
        for start in range(0, len(codes), PART):
            part = codes[start : start + PART]
            before = np.maximum.accumulate(np.append(highest, part))
            # The code of a new text is higher.
            found[rows[start : start + PART]] = part <= before[:-1]
            highest = before[-1]
    return found


def _shares(texts: pa.StringArray) -> NDArray[np.uint8]:
    """Return a number below `_SHARES` for each text, by its first, middle and last characters."""
    ends, (_, _, characters) = ends_of(texts), bounds(texts)
    shares = np.zeros(len(texts), np.uint8)
    for part in range(0, len(texts), PART):
        start, end = ends[:-1][part : part + PART], ends[1:][part : part + PART]
        rows = np.flatnonzero(start < end)
        first, last = start[rows], end[rows] - 1
        mixed = (
            characters[first] + 3 * characters[first + (last - first) // 2] + 5 * characters[last]
        )
        shares[part + rows] = mixed % _SHARES
    return shares
