"""The one number that leaves the vault: held in memory for one step, never shown or stored."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from scoring.errors import StateError

_MANTISSA, _HALF = 53, 26  # bits
_LOW = (1 << _HALF) - 1


def effective_rows(weights: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> int:
    """Return how many plain rows weighted rows count as: W / max(w) in whole rows, W their sum.

    One row moves a weighted mean by at most max(w) / W, so by at most 1 / effective rows. Where
    rows come in groups, w is a group's weight, and all its rows together move the mean by no more.
    groups: the number of each row's group. The weights are not all 0.
    """
    counts = _counts(weights)
    if groups is None:
        return _sum(counts) // int(counts.max())
    high, low = (np.bincount(groups, part).astype(np.int64) for part in _halves(counts))
    high, low = high + (low >> _HALF), low & _LOW
    top = high.max()
    return _sum(counts) // ((int(top) << _HALF) + int(low[high == top].max()))


def weighted_mean(losses: NDArray[Any], weights: NDArray[np.float64]) -> Fraction:
    """Return the mean of losses in [0, 1]; weights are not negative and not all 0.

    Each weight is counted to 2^-53 of the largest, and the part of it that is lost to the same.

    In integers: a sum of floats depends on the order in which a processor adds them, and a mean has
    to be the same wherever it is measured again. No row adds more than its weight counts, so what
    is said of `effective_rows` holds for the counted mean exactly.
    """
    counts = _counts(weights)
    return min(Fraction(1), Fraction(_sum(np.rint(losses * counts)), _sum(counts)))


def _counts(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count weights in whole numbers, the largest from 2^52 to 2^53: exactly its digits."""
    _, exponent = np.frexp(weights.max())
    return np.rint(np.ldexp(weights, _MANTISSA - int(exponent)))


def _sum(counts: NDArray[np.float64]) -> int:
    high, low = _halves(counts)
    return (int(high.sum()) << _HALF) + int(low.sum())


def _halves(counts: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts as 2^26 times one number and another, so that no sum overflows or rounds."""
    integers = counts.astype(np.int64)
    return integers >> _HALF, integers & _LOW


class Secret:
    """Refuses every ordinary way of turning an object into text or bytes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: not shown>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} may not be pickled or copied")

    def __reduce_ex__(self, protocol: object, /) -> NoReturn:
        self.__reduce__()


@dataclass(frozen=True, repr=False)
class Mean(Secret):
    """The mean loss of one submission on one set of rows, exactly: units / (rows * resolution).

    A row's loss lies in [0, 1] and is counted in `resolution` units; lower is better. `additive` is
    False for a set function (AUC, F1): its `units` are round(loss * rows * resolution) and no
    concentration bound for means applies to it, so its releases carry no guarantee.
    Raises StateError, without numbers, when the mean cannot exist.
    """

    units: int
    rows: int
    resolution: int
    additive: bool = True

    def __post_init__(self) -> None:
        for number in (self.units, self.rows, self.resolution):
            if type(number) is not int:  # a numpy integer would overflow in the mechanisms
                raise StateError("A mean is made of Python integers.")
        if self.rows < 1 or self.resolution < 1:
            raise StateError("A mean needs at least one row and one unit per row.")
        if not 0 <= self.units <= self.whole:
            raise StateError("A mean loss lies between 0 and 1.")

    @property
    def whole(self) -> int:
        """Return the number of units that make up a mean loss of 1."""
        return self.rows * self.resolution

    def claimed(self, loss: Fraction | float) -> "Mean":
        """Return a loss that a team claims, from 0 to 1, in the units of this mean and nothing else
        of it.

        It is the reference where there are no reference rows (guess and check). Raises StateError.
        """
        if not 0 <= loss <= 1:  # also refuses what is not a number
            raise StateError("A claimed loss lies between 0 and 1.")
        return replace(self, units=round(Fraction(loss) * self.whole))

    def level(self, steps: int) -> int:
        """Return the nearest grid index: loss * steps, ties towards the larger loss."""
        return (2 * self.units * steps + self.whole) // (2 * self.whole)


@dataclass(frozen=True, repr=False)
class Measurement(Secret):
    """What the vault says about one submission: its mean on the holdout and on the reference rows.

    `reference` is None where the competition has neither reference rows nor claims. `spread`: the
    standard deviation of the scores of a model's runs on the reference rows. `runs`: how many it
    has; each row's loss is the mean over them.
    """

    holdout: Mean
    reference: Mean | None = None
    spread: float | None = field(default=None, kw_only=True)
    runs: int = field(default=1, kw_only=True)
