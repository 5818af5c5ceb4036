"""Harrell's concordance index in n log n, exactly."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Values
from scoring.parameters import Parameter

Integers = NDArray[np.int64]

CENSORED = Parameter(
    name="censored",
    title="Censored rows",
    help=(
        "“negative”: a truth of -t means that nothing had happened until t, when the row left "
        "the study (the convention of XGBoost). “none”: all truths are values."
    ),
    kind="choice",
    default="none",
    choices=("none", "negative"),
)


def distinct(predicted: Values, actual: Values, changed: Values) -> bool:
    """Return whether no two truths are equal, before or after a change."""
    return all(len(np.unique(each)) == len(each) for each in (actual, changed))


def concordance(predicted: Values, actual: Values, *, censored: bool) -> Fraction:
    """Return the share of comparable pairs that are in order; equal predictions count half.

    Comparable: different times, the earlier one not censored; or equal times, one of them
    censored, which counts as the later. 1/2 where there are no such pairs.
    """
    happened = actual >= 0 if censored else np.ones(len(actual), np.bool_)
    times = np.abs(actual) if censored else actual
    # By time, events before censored rows; within, higher predictions first, so that rows of one
    # time never look concordant.
    order = np.lexsort((-predicted, ~happened, times))
    groups = _groups(times[order], happened[order])
    predicted, happened = predicted[order], happened[order]
    ends = np.searchsorted(groups, groups, side="right")
    pairs = int((len(groups) - ends)[happened].sum())
    if not pairs:
        return Fraction(1, 2)
    twice = 2 * _later_and_higher(predicted, happened) + _later_and_equal(
        predicted, groups, happened
    )
    return Fraction(twice, 2 * pairs)


def _groups(times: Values, happened: NDArray[np.bool_]) -> Integers:
    """Give rows of the same time and fate the same number, ascending."""
    new = (times[1:] != times[:-1]) | (happened[1:] != happened[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def _later_and_higher(predicted: Values, happened: NDArray[np.bool_]) -> int:
    """Count the pairs of places i < j with predicted[i] < predicted[j] and happened[i].

    A merge sort backwards: places in the order of their predictions are parted by their highest
    bit, then each part by the next one. At each parting, those of the lower half that stand in
    front of one of the upper half are a pair with it.
    """
    rows = len(predicted)
    # Ascending predictions; of equal ones the later place first, so that they make no pair.
    places = np.lexsort((-np.arange(rows), predicted))
    pairs = 0
    for bit in reversed(range((rows - 1).bit_length())):
        upper = (places >> bit) & 1
        before = np.cumsum(upper)
        starts = (places >> (bit + 1)) << (bit + 1)  # of the part that a place is in
        uppers = np.maximum(np.minimum(starts + (2 << bit), rows) - starts - (1 << bit), 0)
        seen = before - np.where(starts > 0, before[starts - 1], 0)
        behind = uppers - seen
        lower = upper == 0
        pairs += int(behind[lower & happened[places]].sum())
        lowers = np.arange(rows) - starts - seen  # lower ones in front, in the same part
        target = starts + np.where(lower, lowers, (1 << bit) + seen - 1)
        parted = np.empty_like(places)
        parted[target] = places
        places = parted
    return pairs


def _later_and_equal(predicted: Values, groups: Integers, happened: NDArray[np.bool_]) -> int:
    """Count pairs of rows with equal predictions, the first happened and of an earlier group."""
    order = np.lexsort((groups, predicted))
    values, parts = predicted[order], groups[order]
    new_value = values[1:] != values[:-1]
    new_part = new_value | (parts[1:] != parts[:-1])
    later = _run_ends(new_value) - _run_ends(new_part)
    return int(later[happened[order]].sum())


def _run_ends(new: NDArray[np.bool_]) -> Integers:
    """Return the end of each place's run; `new`: where the next place starts another."""
    ends = np.append(np.flatnonzero(new) + 1, len(new) + 1)
    run = np.concatenate([[0], np.cumsum(new)])
    run_ends: Integers = ends[run]
    return run_ends
