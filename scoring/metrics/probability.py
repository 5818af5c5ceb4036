"""Metrics of probabilities. Labels are 0 or 1; with a column for each class, one 1 in each row."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from scoring.metrics.base import COMPLEMENT, Parameters, Scale, Values, number
from scoring.metrics.labels import one_class_each, only_zero_and_one
from scoring.metrics.registry import mean_metric
from scoring.parameters import Parameter

CLIP = Parameter(
    name="clip",
    title="Smallest probability",
    help=(
        "Probabilities are moved into [p, 1 - p] before they are scored, because the log loss of "
        "a certain and wrong prediction is infinite. A row's loss then spans ln((1 - p) / p): "
        "with 0.01 that is 4.6. The smaller p is, the less the holdout can say of each score."
    ),
    kind="fraction",
    default=Fraction(1, 100),
    minimum=Fraction(1, 10**15),
    maximum=Fraction(49, 100),
)
K = Parameter(
    name="k",
    title="Classes that count",
    help="A row is right if its class is among the k with the highest predictions.",
    kind="integer",
    default=3,
    minimum=1,
    maximum=1000,
)


@mean_metric(
    "brier",
    "Brier score",
    "The mean squared difference between the probability and what happened, 0 or 1.",
    takes=("probability",),
    columns="averaged",
    label_rule=only_zero_and_one,
)
def brier_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return (p - y)^2."""
    losses: Values = np.square(predicted - actual)
    return losses


@mean_metric(
    "brier_multiclass",
    "Brier score of several classes",
    (
        "Half the sum over classes of the squared difference between probability and what "
        "happened. Each row's probabilities are divided by their sum first."
    ),
    takes=("probability",),
    columns="together",
    label_rule=one_class_each,
)
def brier_multiclass_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return the sum over classes of (p - y)^2 / 2."""
    losses: Values = np.square(_shares(predicted) - actual).sum(axis=1) / 2
    return np.minimum(losses, 1.0)


def _least(params: Parameters) -> float:
    """Return the log loss of a row that is predicted as rightly as the clip allows."""
    return -math.log1p(-number(params, "clip"))


def _span(params: Parameters) -> float:
    clip = number(params, "clip")
    return math.log1p(-clip) - math.log(clip)


LOG_SCALE = Scale(
    lambda loss, params: _least(params) + loss * _span(params),
    lambda score, params: (score - _least(params)) / _span(params),
)
_log_loss = partial(
    mean_metric,
    takes=("probability",),
    parameters=(CLIP,),
    scale=LOG_SCALE,
    clipping="Probabilities are cut to {clip} from below and to 1 - {clip} from above.",
)


@_log_loss(
    "log_loss",
    "Log loss",
    "The mean of -ln of the probability given to what happened.",
    columns="averaged",
    label_rule=only_zero_and_one,
)
def log_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return each row's log loss as a share of the span that the clip leaves (theory.md 5.10)."""
    return _log_shares(np.where(actual == 1, predicted, 1 - predicted), params)


@_log_loss(
    "log_loss_multiclass",
    "Log loss of several classes",
    (
        "The mean of -ln of the probability given to the right class. Each row's probabilities "
        "are divided by their sum first."
    ),
    columns="together",
    label_rule=one_class_each,
)
def log_multiclass_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return the log loss as `log_losses` does, of the probability of the right class."""
    return _log_shares(np.take_along_axis(_shares(predicted), _right(actual), 1)[:, 0], params)


@mean_metric(
    "top_k_accuracy",
    "Top-k accuracy",
    (
        "The share of rows whose class is among the k with the highest predictions; of equal ones "
        "the later columns come first."
    ),
    takes=("probability", "number"),
    columns="together",
    parameters=(K,),
    scale=COMPLEMENT,
    units=1,
    label_rule=one_class_each,
)
def not_in_top_k(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return 1 where k classes or more come before the right one."""
    right = _right(actual)
    own = np.take_along_axis(predicted, right, 1)
    later = np.arange(predicted.shape[1]) > right
    before = np.count_nonzero((predicted > own) | ((predicted == own) & later), axis=1)
    missed: Values = before >= number(params, "k")
    return missed


def _right(actual: Values) -> Values:
    """Return the column of each row's class, as a matrix of one column."""
    right: Values = actual.argmax(axis=1)[:, None]
    return right


def _shares(predicted: Values) -> Values:
    """Return each row divided by its sum; in a row of zeros all classes get the same."""
    sums = predicted.sum(axis=1, keepdims=True)
    same = np.full_like(predicted, 1 / predicted.shape[1])
    # Subnormal sums: a quotient may round above 1.
    shares: Values = np.minimum(np.divide(predicted, sums, out=same, where=sums > 0), 1.0)
    return shares


def _log_shares(given: Values, params: Parameters) -> Values:
    clip = number(params, "clip")
    losses = -np.log(np.clip(given, clip, 1 - clip))
    shares: Values = np.clip((losses - _least(params)) / _span(params), 0.0, 1.0)
    return shares
