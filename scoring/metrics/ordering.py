"""Sorting predictions with their labels, and what stands in front of what."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Values, Weights
from scoring.threads import Result, spread, thread_count

Integers = NDArray[np.int64]
Rows = NDArray[np.intp]
Keys = NDArray[np.uint64]
Labels = NDArray[np.bool_]
_LAST_BIT: Final = np.uint64(1)
_ALONE: Final = 1 << 16  # rows that one thread sorts sooner than several
_SAMPLE: Final = 1000


@dataclass(frozen=True)
class Steps:
    """The different predictions in ascending order: the weight of the rows with label 1 and of
    those with label 0 that have each (int64 without weights)."""

    ones: Values
    zeros: Values

    @classmethod
    def of(cls, predicted: Values, actual: Values, weights: Weights) -> "Steps":
        """Sort finite float64; actual: 1 or anything else; weights: None or float64."""
        is_one = actual == 1
        if weights is None and predicted.min() >= 0:
            parts = _in_ranges(predicted, lambda rows: _sorted_keys(predicted[rows], is_one[rows]))
            keys = np.concatenate(parts)
            ends = _ends(keys >> _LAST_BIT)
            ones = np.cumsum((keys & _LAST_BIT).astype(np.int64))[ends]
            return cls(_parts(ones), _parts(ends + 1 - ones))
        order = np.argsort(predicted)
        ends = _ends(predicted[order])
        if weights is None:
            ones = np.cumsum(is_one[order])[ends]
            return cls(_parts(ones), _parts(ends + 1 - ones))
        both = weights[order], is_one[order]
        ones, zeros = (np.cumsum(both[0] * each) for each in (both[1], ~both[1]))
        return cls(_parts(ones[ends]), _parts(zeros[ends]))


def twice_pairs_in_order(predicted: Values, actual: Values) -> int:
    """Count over all pairs of a row with label 1 and one without.

    2 where the first is predicted higher, 1 where both are predicted the same.
    """
    is_one = actual == 1
    count = _twice_pairs_by_keys if predicted.min() >= 0 else _twice_pairs_by_search

    def counted(rows: Rows) -> tuple[int, int, int]:
        labels = is_one[rows]
        ones = int(np.count_nonzero(labels))
        return ones, len(labels) - ones, count(predicted[rows], labels)

    twice = zeros_below = 0
    for ones, zeros, twice_among_these in _in_ranges(predicted, counted):
        twice += twice_among_these + 2 * ones * zeros_below
        zeros_below += zeros
    return twice


def _twice_pairs_by_search(predicted: Values, is_one: Labels) -> int:
    ones, zeros = np.sort(predicted[is_one]), np.sort(predicted[~is_one])
    sides = (np.searchsorted(zeros, ones, side).sum() for side in ("left", "right"))
    return sum(map(int, sides))


def _twice_pairs_by_keys(predicted: Values, is_one: Labels) -> int:
    """Count them for predictions >= 0."""
    keys = _sorted_keys(predicted, is_one)
    # Of equal predictions those with label 0 come first: they count as lower, then half of them
    # are taken off again.
    places = np.flatnonzero((keys & _LAST_BIT).astype(np.bool_))
    not_above = int(places.sum()) - len(places) * (len(places) - 1) // 2
    meets = np.flatnonzero((keys[1:] ^ keys[:-1]) == _LAST_BIT)  # the last 0 beside the first 1
    zeros = meets + 1 - np.searchsorted(keys, keys[meets], side="left")
    ones = np.searchsorted(keys, keys[meets + 1], side="right") - (meets + 1)
    return 2 * not_above - int((zeros * ones).sum())


def _sorted_keys(predicted: Values, is_one: Labels) -> Keys:
    """Return finite numbers >= 0 with their labels, as integers in the order of the numbers.

    The bits of such a float64 are in its order and leave the first one free for the label: sorting
    integers is several times faster than sorting numbers and taking the labels along.
    """
    keys = (predicted + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    keys <<= _LAST_BIT
    keys |= is_one
    keys.sort()
    return keys


def _in_ranges(values: Values, work: Callable[[Rows], Result]) -> list[Result]:
    """Return the results for the rows of ranges of values, lower ones first; equal values in one.

    There are as many ranges as processors, each of about as many rows.
    """
    ranges = thread_count() if len(values) >= _ALONE else 1
    sample = np.sort(values[:: max(1, len(values) // _SAMPLE)])
    pivots = sample[np.arange(1, ranges) * len(sample) // ranges]

    def part(number: int) -> Result:
        chosen = np.ones(len(values), np.bool_)
        if number > 0:
            chosen &= values >= pivots[number - 1]
        if number < len(pivots):
            chosen &= values < pivots[number]
        return work(np.flatnonzero(chosen))

    return spread(part, range(ranges))


def _ends(values: Values) -> Integers:
    return np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)


def _parts(sums: Values) -> Values:
    return np.diff(sums, prepend=sums.dtype.type(0))
