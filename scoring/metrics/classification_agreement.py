"""Metrics of labels that discount agreement by chance. What one row can do to them has no useful
bound: where nearly all labels or predictions are of one class, a single row decides."""

import math
from functools import partial

import numpy as np

from scoring.metrics.base import SIGNED, Parameters, Values, Weights
from scoring.metrics.confusion import Floats, Tally
from scoring.metrics.registry import set_function

_agreement = partial(set_function, takes=("label",), scale=SIGNED)


@_agreement(
    "mcc",
    "Matthews correlation coefficient",
    (
        "The correlation of labels and predictions, for two classes and more; 0 where all labels "
        "or all predictions are the same."
    ),
)
def mcc_loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return (1 - MCC) / 2 with Gorodkin's R_K."""
    tally = Tally.of(predicted, actual, weights)
    total = tally.actual.sum()
    together = tally.right.sum() * total - tally.actual @ tally.predicted
    spread = _spread(tally.actual) * _spread(tally.predicted)
    return _as_loss(float(together) / math.sqrt(spread) if spread > 0 else 0.0)


def _spread(counts: Floats) -> float:
    """Count pairs of rows of different classes twice: exactly 0 where there is one class only."""
    return float(sum(count * (counts.sum() - count) for count in counts[counts > 0]))


@_agreement(
    "kappa",
    "Cohen's kappa",
    (
        "Agreement of labels and predictions beyond chance; 0 where chance alone would agree on "
        "every row."
    ),
)
def kappa_loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return (1 - kappa) / 2."""
    tally = Tally.of(predicted, actual, weights)
    total = tally.actual.sum()
    agreed = tally.actual @ tally.predicted / total
    return _beyond_chance(float(total - tally.right.sum()), float(total - agreed))


@_agreement(
    "quadratic_kappa",
    "Quadratic weighted kappa",
    (
        "Agreement of ordered classes beyond chance, disagreements weighted by the square of "
        "their distance in the order of the schema's classes; 0 where chance alone would agree on "
        "every row."
    ),
)
def quadratic_kappa_loss(
    predicted: Values, actual: Values, params: Parameters, weights: Weights
) -> float:
    """Return (1 - weighted kappa) / 2."""
    apart = predicted.astype(np.float64) - actual
    weight = np.ones(len(apart)) if weights is None else weights
    total = weight.sum()
    # Around the middle of the codes, so that nothing cancels; sums of half integers are exact.
    middle = (float(predicted.max()) + float(actual.min())) // 2
    p, a = predicted - middle, actual - middle
    chance = weight @ (p * p + a * a) - 2 * (weight @ p) * (weight @ a) / total
    return _beyond_chance(float(weight @ (apart * apart)), float(chance))


def _beyond_chance(cost: float, by_chance: float) -> float:
    """Return the loss of kappa = 1 - cost / by_chance."""
    return _as_loss(1.0 - cost / by_chance if by_chance > 0 else 0.0)


def _as_loss(signed: float) -> float:
    return min(1.0, max(0.0, (1.0 - signed) / 2.0))
