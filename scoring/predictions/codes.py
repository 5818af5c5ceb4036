"""A number for what is predicted on each row, to see where two files predict the same."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.predictions import texts
from scoring.predictions.lists import Lists
from scoring.predictions.reader import Predictions

Codes = NDArray[np.uint64]

# Steele, Lea, Flood 2014 (SplitMix64): a bijection whose bits all depend on all.
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTORS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS: Final = (np.uint64(30), np.uint64(27), np.uint64(31))


def row_codes(predictions: Predictions, rows: NDArray[np.bool_]) -> Codes:
    """Return a code of each row of the mask: of two files they differ where the predictions do.

    Exact for one column of labels or numbers; several columns, lists and texts are mixed into 64
    bits.
    """
    columns = [predictions.columns[column.name] for column in predictions.schema.columns]
    first, *others = (_of_column(column, rows) for column in columns)
    codes = first
    for each in others:
        codes = _mix(codes) ^ each
    return codes


def _of_column(values: Any, rows: NDArray[np.bool_]) -> Codes:
    if not isinstance(values, Lists):
        chosen = values[rows]
        is_float = chosen.dtype == np.float64
        # -0.0 + 0.0 is 0.0
        codes: Codes = (chosen + 0.0).view(np.uint64) if is_float else chosen.astype(np.uint64)
        return codes
    lists = values[np.flatnonzero(rows)]
    if lists.are_texts:
        return texts.codes(lists)
    place = np.arange(len(lists.codes)) - np.repeat(lists.offsets[:-1], lists.lengths)
    mixed = _mix(_mix(place.astype(np.uint64)) ^ lists.codes.astype(np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _mix(sums[lists.offsets[1:]] - sums[lists.offsets[:-1]])


def _mix(codes: Codes) -> Codes:
    mixed = codes + _STEP
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> _SHIFTS[-1])
