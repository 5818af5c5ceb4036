"""What metrics of labels count: of each class, how often it is right, labelled and predicted."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Values, Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """For each class the weight of rows that are right, labelled and predicted so (float64)."""

    right: Floats
    actual: Floats
    predicted: Floats

    @classmethod
    def of(cls, predicted: Values, actual: Values, weights: Weights) -> "Tally":
        """Count codes; the classes are those up to the largest code. Plain counts are exact."""
        classes = max(2, 1 + int(max(predicted.max(), actual.max())))

        def count(codes: Values, weights: Weights) -> Floats:
            return np.bincount(codes, weights, minlength=classes).astype(np.float64)

        is_right = predicted == actual
        right = count(actual[is_right], None if weights is None else weights[is_right])
        return cls(right, count(actual, weights), count(predicted, weights))

    @property
    def occurs(self) -> NDArray[np.bool_]:
        return (self.actual + self.predicted) > 0


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    # A whole may be a sum of weights less one of them, and miss 0 by its rounding.
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def average(values: Floats, weights: Floats | None = None) -> float:
    """Return the (weighted) mean of correctly rounded sums, the same in any order."""
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(values * weights) / math.fsum(weights)
