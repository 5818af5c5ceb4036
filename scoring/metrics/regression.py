"""Metrics of numbers. An error counts up to a bound that the organizer chooses and pages state."""

from fractions import Fraction

import numpy as np

from scoring.metrics.base import Parameters, Scale, Values, mean_metric, number
from scoring.parameters import Parameter

CLIP = Parameter(
    name="clip",
    title="Largest error that counts",
    help=(
        "The largest difference between prediction and truth that counts, in the unit of the "
        "target; larger ones count as this one. Choose it from what the target's values are, "
        "not larger than needed: the board's steps and certificates are shares of it."
    ),
    kind="fraction",
    default=Fraction(1),
    minimum=Fraction(1, 10**9),
    maximum=Fraction(10**15),
)


@mean_metric(
    "mae",
    title="Mean absolute error",
    description="The mean difference between prediction and truth, each cut to the largest error.",
    takes=("number",),
    several=True,
    parameters=(CLIP,),
    scale=Scale(
        lambda loss, params: number(params, "clip") * loss,
        lambda score, params: score / number(params, "clip"),
    ),
)
def clipped_errors(predicted: Values, actual: Values, params: Parameters) -> Values:
    """min(|error|, clip) / clip."""
    with np.errstate(over="ignore"):  # an infinite difference is cut like any large one
        errors = np.abs(predicted - actual)
    clip = number(params, "clip")
    shares: Values = np.minimum(errors, clip) / clip
    return shares


@mean_metric(
    "rmse",
    title="Root mean squared error",
    description="The square root of the mean squared difference between prediction and truth, "
    "each difference cut to the largest error.",
    takes=("number",),
    transformed=True,
    parameters=(CLIP,),
    scale=Scale(
        lambda loss, params: number(params, "clip") * loss**0.5,
        lambda score, params: (score / number(params, "clip")) ** 2,
    ),
)
@mean_metric(
    "mse",
    title="Mean squared error",
    description="The mean squared difference between prediction and truth, each difference cut "
    "to the largest error.",
    takes=("number",),
    several=True,
    parameters=(CLIP,),
    scale=Scale(
        lambda loss, params: number(params, "clip") ** 2 * loss,
        lambda score, params: score / number(params, "clip") ** 2,
    ),
)
def clipped_squares(predicted: Values, actual: Values, params: Parameters) -> Values:
    """(min(|error|, clip) / clip)^2."""
    squares: Values = np.square(clipped_errors(predicted, actual, params))
    return squares
