"""Metrics of how far predictions and truth vary together, after moving and stretching both.

Values are first taken as shares of their range, from 0 to 1: nothing overflows or cancels, and
values that are equal to 13 digits count as equal, for any file and in any order.
"""

import math
from fractions import Fraction

import numpy as np

from scoring.metrics.base import SIGNED, Parameters, Scale, Sensitivity, Values, Weights, number
from scoring.metrics.labels import not_all_equal
from scoring.metrics.registry import set_function
from scoring.parameters import Parameter

FLOOR = Parameter(
    name="floor",
    title="Lowest score that counts",
    help=(
        "R² has no lower end; lower scores count as this one. 0 is what predicting the mean of the "
        "labels gets. The board's steps are shares of the span from here to 1."
    ),
    kind="fraction",
    default=Fraction(0),
    minimum=Fraction(-1000),
    maximum=Fraction(0),
)
_EQUAL = 1e-13


@set_function(
    "r2",
    "R²",
    (
        "1 - (squared errors) / (squared differences of the labels from their mean). Where all "
        "labels are equal: 1 without any error, else 0."
    ),
    takes=("number",),
    parameters=(FLOOR,),
    scale=Scale(
        lambda loss, params: 1.0 - (1.0 - number(params, "floor")) * loss,
        lambda score, params: (1.0 - score) / (1.0 - number(params, "floor")),
    ),
    clipping="Scores below {floor} count as {floor}.",
    label_rule=not_all_equal,
)
def r2_loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return the unexplained share, cut to the floor, as a share of 1 - floor."""
    shares, span = _shares(actual)
    whole = 1.0 - number(params, "floor")
    if np.isinf(span):
        return float(r2_loss(predicted / 4, actual / 4, params, weights))
    spread = _sum(np.square(_centred(shares, weights)), weights)
    if not spread:
        return 0.0 if np.array_equal(predicted, actual) else min(1.0, 1.0 / whole)
    with np.errstate(over="ignore"):  # infinite errors are cut like large ones
        errors = np.square((predicted - actual) / span)
        return min(1.0, _sum(errors, weights) / spread / whole)


@set_function(
    "pearson",
    "Pearson correlation",
    ("The correlation of predictions and labels; 0 where either are all equal, to 13 digits."),
    takes=("number", "probability"),
    scale=SIGNED,
    label_rule=not_all_equal,
)
def pearson_loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return (1 - r) / 2."""
    return (1.0 - _correlation(predicted, actual, weights)) / 2.0


@set_function(
    "spearman",
    "Spearman correlation",
    (
        "The correlation of the ranks of predictions and labels, equal ones sharing the mean of "
        "their ranks; 0 where either are all equal."
    ),
    takes=("number", "probability"),
    scale=SIGNED,
    weighted=False,
    sensitivity=Sensitivity(
        "9 / rows",
        lambda predicted, actual: 9 / (2 * len(actual)),
        "neither predictions nor labels have equal values",
        lambda *arrays: all(len(np.unique(each)) == len(each) for each in arrays),
    ),
    label_rule=not_all_equal,
)
def spearman_loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return (1 - rho) / 2."""
    from scipy.stats import rankdata  # takes as long to import as all the rest together

    return (1.0 - _correlation(rankdata(predicted), rankdata(actual), None)) / 2.0


def _correlation(predicted: Values, actual: Values, weights: Weights) -> float:
    p, a = (_centred(_shares(each)[0], weights) for each in (predicted, actual))
    size = math.sqrt(_sum(p * p, weights)) * math.sqrt(_sum(a * a, weights))
    return min(1.0, max(-1.0, _sum(p * a, weights) / size)) if size else 0.0


def _shares(values: Values) -> tuple[Values, float]:
    """Return (value - least) / span, and the span; all 0 where values are equal to 13 digits."""
    low, high = float(values.min()), float(values.max())
    if high - low <= _EQUAL * max(abs(low), abs(high)):
        return np.zeros_like(values), 1.0
    if np.isinf(high - low):
        return _shares(values / 4)[0], np.inf
    return (values - low) / (high - low), high - low


def _centred(values: Values, weights: Weights) -> Values:
    centred: Values = values - np.average(values, weights=weights)
    return centred


def _sum(values: Values, weights: Weights) -> float:
    return float(values.sum() if weights is None else values @ weights)
