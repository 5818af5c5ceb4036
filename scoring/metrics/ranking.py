"""Metrics of the order that predictions put rows in."""

from fractions import Fraction
from functools import partial

import numpy as np

from scoring.guarantees.sensitivity import auc_sensitivity
from scoring.metrics.base import SIGNED, Parameters, Sensitivity, Values, Weights
from scoring.metrics.concordance import CENSORED, concordance, distinct
from scoring.metrics.labels import both_in_each_column, both_zero_and_one, some_one
from scoring.metrics.ordering import Steps, twice_pairs_in_order
from scoring.metrics.registry import set_function

_from_order = partial(set_function, takes=("probability", "number"))
_THEORY = "scoring/guarantees/sensitivity.py"


def _counts(actual: Values) -> tuple[int, int]:
    ones = int(np.count_nonzero(actual == 1))
    return ones, len(actual) - ones


def _auc_bound(predicted: Values, actual: Values) -> float:
    return auc_sensitivity(*_counts(actual))


def _auc_sensitivity(formula: str) -> Sensitivity:
    return Sensitivity(
        formula,
        _auc_bound,
        "both labels occur",
        lambda predicted, actual, changed: all(_counts(actual)),
        source=_THEORY,
    )


@_from_order(
    "gini",
    "Gini coefficient",
    (
        "2 AUC - 1: pairs of rows with different labels in the right order less those in the "
        "wrong one, as a share of all. 0 where there are no such pairs."
    ),
    scale=SIGNED,
    label_rule=both_zero_and_one,
    sensitivity=_auc_sensitivity("2 max(1/n₁ + 1/(n₀ + 1), 1/n₀ + 1/(n₁ + 1)), n₁ and n₀ rows"),
)
@_from_order(
    "roc_auc",
    "ROC AUC",
    (
        "The probability that a row with label 1 is ranked above a row with label 0; ties count "
        "half. 0.5 where there are no such pairs."
    ),
    label_rule=both_zero_and_one,
    sensitivity=_auc_sensitivity("max(1/n₁ + 1/(n₀ + 1), 1/n₀ + 1/(n₁ + 1)), n₁ and n₀ rows"),
)
def auc_loss(
    predicted: Values, actual: Values, params: Parameters, weights: Weights
) -> Fraction | float:
    """Return 1 - U / (n1 n0) with the Mann-Whitney statistic U; exactly, without weights."""
    if weights is not None:
        steps = Steps.of(predicted, actual, weights)
        pairs = float(steps.ones.sum() * steps.zeros.sum())
        above = float((steps.ones * (np.cumsum(steps.zeros) - steps.zeros / 2)).sum())
        return min(1.0, max(0.0, 1.0 - above / pairs)) if pairs else 0.5
    ones, zeros = _counts(actual)
    if not ones or not zeros:
        return Fraction(1, 2)
    return 1 - Fraction(twice_pairs_in_order(predicted, actual), 2 * ones * zeros)


@_from_order(
    "roc_auc_ovr",
    "Mean ROC AUC of columns",
    (
        "ROC AUC of each column, a class against the rest, averaged over the columns; 0.5 for a "
        "column without both labels."
    ),
    columns="together",
    label_rule=both_in_each_column,
    sensitivity=Sensitivity(
        "the mean over columns of ROC AUC's bound",
        lambda predicted, actual: float(np.mean([_auc_bound(predicted, a) for a in actual.T])),
        "both labels occur in each column",
        lambda predicted, actual, changed: all(all(_counts(each)) for each in actual.T),
        source=_THEORY,
    ),
)
def mean_auc_loss(
    predicted: Values, actual: Values, params: Parameters, weights: Weights
) -> Fraction | float:
    """Return 1 - the mean AUC."""
    losses = [
        auc_loss(np.ascontiguousarray(predicted[:, each]), actual[:, each], params, weights)
        for each in range(predicted.shape[1])
    ]
    return sum(losses, Fraction(0)) / len(losses)


@_from_order(
    "average_precision",
    "Average precision",
    (
        "The precision at each row with label 1, rows ranked by prediction, averaged over these "
        "rows; equal predictions share one precision. 0 where no label is 1."
    ),
    label_rule=some_one,
    # A new row among n₁ adds 1 / rank to the precision at each one after it.
    sensitivity=Sensitivity(
        "(1 + 1/2 + … + 1/n₁) / n₁, n₁ rows with label 1",
        lambda predicted, actual: float((1 / np.arange(1, max(1, _counts(actual)[0]) + 1)).mean()),
    ),
)
def average_precision_loss(
    predicted: Values, actual: Values, params: Parameters, weights: Weights
) -> float:
    """Return 1 - the sum over thresholds of (new recall) x precision."""
    steps = Steps.of(predicted, actual, weights)
    ones, zeros = steps.ones[::-1], steps.zeros[::-1]
    found = np.cumsum(ones)
    if not found[-1]:
        return 1.0
    precisions = np.divide(
        found, found + np.cumsum(zeros), where=found > 0, out=np.zeros(len(found))
    )
    return min(1.0, max(0.0, 1.0 - float((ones * precisions).sum() / found[-1])))


@set_function(
    "concordance",
    "Concordance index",
    (
        "The share of pairs of rows with different truths that predictions put in the same order; "
        "equal predictions count half. 0.5 where there are no such pairs. For survival times, "
        "predict the time and give censored ones as negative numbers in the solution."
    ),
    takes=("number", "probability"),
    parameters=(CENSORED,),
    weighted=False,
    sensitivity=Sensitivity(
        "2 / rows",
        lambda predicted, actual: 2 / len(actual),
        "no censored rows, and no equal truths",
        distinct,
    ),
)
def discordance(
    predicted: Values, actual: Values, params: Parameters, weights: Weights
) -> Fraction:
    """Return 1 - Harrell's C, exactly."""
    return 1 - concordance(predicted, actual, censored=params["censored"] == "negative")
