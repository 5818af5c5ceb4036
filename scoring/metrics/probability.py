"""Metrics of the probability that a row's label is 1. Labels are 0 or 1."""

import math
from fractions import Fraction

import numpy as np

from scoring.metrics.base import Parameters, Scale, Values, mean_metric, number
from scoring.metrics.labels import only_zero_and_one
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


@mean_metric(
    "brier",
    title="Brier score",
    description="The mean squared difference between the probability and what happened, 0 or 1.",
    takes=("probability",),
    several=True,
    label_rule=only_zero_and_one,
)
def brier_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """(p - y)^2."""
    losses: Values = np.square(predicted - actual)
    return losses


def _least(params: Parameters) -> float:
    """The log loss of a row that is predicted as rightly as the clip allows."""
    return -math.log1p(-number(params, "clip"))


def _span(params: Parameters) -> float:
    clip = number(params, "clip")
    return math.log1p(-clip) - math.log(clip)


@mean_metric(
    "log_loss",
    title="Log loss",
    description=(
        "The mean of -ln of the probability given to what happened, with probabilities cut to "
        "[p, 1 - p]."
    ),
    takes=("probability",),
    several=True,
    parameters=(CLIP,),
    scale=Scale(
        lambda loss, params: _least(params) + loss * _span(params),
        lambda score, params: (score - _least(params)) / _span(params),
    ),
    label_rule=only_zero_and_one,
)
def log_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """The log loss of each row as a share of the span that the clip leaves (theory.md 5.10)."""
    clip = number(params, "clip")
    given = np.where(actual == 1, predicted, 1 - predicted)
    losses = -np.log(np.clip(given, clip, 1 - clip))
    shares: Values = np.clip((losses - _least(params)) / _span(params), 0.0, 1.0)
    return shares
