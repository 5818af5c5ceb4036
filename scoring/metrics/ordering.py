"""Sorting predictions with their labels, and what stands in front of what."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring.metrics.base import Values

Integers = NDArray[np.int64]
_LAST_BIT: Final = np.uint64(1)
_ALONE: Final = 1 << 16  # keys that one thread sorts sooner than several
_SAMPLE: Final = 1000


@dataclass(frozen=True)
class Steps:
    """The different predictions in ascending order: the weight of the rows with label 1 and of
    those with label 0 that have each (int64 without weights)."""

    ones: Values
    zeros: Values

    @classmethod
    def of(cls, predicted: Values, actual: Values, weights: Values | None) -> "Steps":
        """predicted: finite float64; actual: 1 or anything else; weights: None or float64."""
        is_one = actual == 1
        if weights is None and predicted.min() >= 0:
            return cls._counted(_sorted_keys(predicted, is_one))
        order = np.argsort(predicted)
        ends = _ends(predicted[order])
        if weights is None:
            ones = np.cumsum(is_one[order])[ends]
            return cls(_parts(ones), _parts(ends + 1 - ones))
        both = weights[order], is_one[order]
        ones, zeros = (np.cumsum(both[0] * each) for each in (both[1], ~both[1]))
        return cls(_parts(ones[ends]), _parts(zeros[ends]))

    @classmethod
    def _counted(cls, keys: NDArray[np.uint64]) -> "Steps":
        ends = _ends(keys >> _LAST_BIT)
        ones = np.cumsum((keys & _LAST_BIT).astype(np.int64))[ends]
        return cls(_parts(ones), _parts(ends + 1 - ones))


def twice_pairs_in_order(predicted: Values, actual: Values) -> int:
    """Over all pairs of a row with label 1 and one without: 2 where the first is predicted higher,
    1 where both are predicted the same."""
    is_one = actual == 1
    if predicted.min() < 0:
        ones, zeros = np.sort(predicted[is_one]), np.sort(predicted[~is_one])
        sides = (np.searchsorted(zeros, ones, side).sum() for side in ("left", "right"))
        return sum(map(int, sides))
    keys = _sorted_keys(predicted, is_one)
    # Of equal predictions those with label 0 come first: they count as lower, then half of them
    # are taken off again.
    places = np.flatnonzero((keys & _LAST_BIT).astype(np.bool_))
    not_above = int(places.sum()) - len(places) * (len(places) - 1) // 2
    return 2 * not_above - _tied_pairs(keys)


def _tied_pairs(keys: NDArray[np.uint64]) -> int:
    """Pairs of equal predictions with different labels, from sorted keys."""
    meets = np.flatnonzero((keys[1:] ^ keys[:-1]) == _LAST_BIT)  # the last 0 beside the first 1
    if not len(meets):
        return 0
    zeros = meets + 1 - np.searchsorted(keys, keys[meets], side="left")
    ones = np.searchsorted(keys, keys[meets + 1], side="right") - (meets + 1)
    return int((zeros * ones).sum())


def _sorted_keys(predicted: Values, is_one: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Finite numbers >= 0 with their labels, as integers in the order of the numbers.

    The bits of such a float64 are in its order and leave the first one free for the label: sorting
    integers is several times faster than sorting numbers and taking the labels along.
    """
    keys = (predicted + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    keys <<= _LAST_BIT
    keys |= is_one
    return _sorted(keys)


def _sorted(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The keys in order, sorted in as many threads as reading takes, each a range of them."""
    threads = pa.cpu_count()
    if threads < 2 or len(keys) < _ALONE:
        keys.sort()
        return keys
    sample = np.sort(keys[:: len(keys) // _SAMPLE])
    pivots = sample[np.arange(1, threads) * len(sample) // threads]

    def part(number: int) -> NDArray[np.uint64]:
        chosen = np.ones(len(keys), np.bool_)
        if number > 0:
            chosen &= keys >= pivots[number - 1]
        if number < len(pivots):
            chosen &= keys < pivots[number]
        some = keys[np.flatnonzero(chosen)]
        some.sort()
        return some

    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(part, range(threads))))


def _ends(values: Values) -> Integers:
    """The last place of each run of equal values."""
    return np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)


def _parts(sums: Values) -> Values:
    return np.diff(sums, prepend=sums.dtype.type(0))
