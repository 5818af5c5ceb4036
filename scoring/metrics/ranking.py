"""Metrics of the order that predictions put rows in."""

from fractions import Fraction

import numpy as np

from scoring.metrics.base import Parameters, Values, set_function
from scoring.metrics.labels import both_zero_and_one


@set_function(
    "roc_auc",
    title="ROC AUC",
    description=(
        "The probability that a row with label 1 is ranked above a row with label 0; ties count "
        "half. 0.5 where there are no such pairs."
    ),
    takes=("probability", "number"),
    label_rule=both_zero_and_one,
)
def auc_loss(predicted: Values, actual: Values, params: Parameters) -> Fraction:
    """1 - U / (n1 n0) with the Mann-Whitney statistic U, exactly."""
    ones, zeros = np.sort(predicted[actual == 1]), np.sort(predicted[actual != 1])
    if not len(ones) or not len(zeros):
        return Fraction(1, 2)
    below = int(np.searchsorted(zeros, ones, side="left").sum())
    not_above = int(np.searchsorted(zeros, ones, side="right").sum())
    return 1 - Fraction(below + not_above, 2 * len(ones) * len(zeros))
