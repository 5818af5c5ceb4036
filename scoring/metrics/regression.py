"""Metrics of numbers. An error counts up to a bound that the organizer chooses and pages state."""

from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from scoring.metrics.base import Parameters, Scale, Sensitivity, Values, Weights, number
from scoring.metrics.labels import not_negative, not_zero
from scoring.metrics.registry import Declared, mean_metric, set_function
from scoring.parameters import Parameter

_clip = partial(Parameter, name="clip", kind="fraction")
CLIP = _clip(
    title="Largest error that counts",
    help=(
        "The largest difference between prediction and truth that counts, in the unit of the "
        "target; larger ones count as this one. Choose it from what the target's values are, "
        "not larger than needed: the board's steps and guarantees are shares of it."
    ),
    default=Fraction(1),
    minimum=Fraction(1, 10**9),
    maximum=Fraction(10**15),
)
LOG_CLIP = _clip(
    title="Largest difference of logarithms that counts",
    help=(
        "The largest difference between ln(1 + prediction) and ln(1 + truth) that counts; larger "
        "ones count as this one. 3 is a factor of 20."
    ),
    default=Fraction(3),
    minimum=Fraction(1, 10**6),
    maximum=Fraction(1000),
)
RELATIVE_CLIP = _clip(
    title="Largest relative error that counts",
    help="The largest error that counts, as a share of the truth: 1 means 100 %.",
    default=Fraction(1),
    minimum=Fraction(1, 10**6),
    maximum=Fraction(10**6),
)
QUANTILE = Parameter(
    name="quantile",
    title="Quantile",
    help="The quantile that is predicted: 0.9 means that nine truths of ten lie below.",
    kind="fraction",
    default=Fraction(1, 2),
    minimum=Fraction(1, 1000),
    maximum=Fraction(999, 1000),
)

_LINEAR = Scale(
    lambda loss, params: number(params, "clip") * loss,
    lambda score, params: score / number(params, "clip"),
)
_ROOT = Scale(
    lambda loss, params: number(params, "clip") * loss**0.5,
    lambda score, params: (score / number(params, "clip")) ** 2,
)
_CUT: Final[Declared] = {
    "takes": ("number",),
    "parameters": (CLIP,),
    "scale": _LINEAR,
    "clipping": "Differences count up to {clip}.",
    "errors": lambda predicted, actual: np.abs(predicted - actual),
}
_cut_errors = partial(mean_metric, **_CUT)
_cut_errors_together = partial(set_function, **_CUT)


def _steeper(params: Parameters) -> float:
    quantile = number(params, "quantile")
    return max(quantile, 1 - quantile)


@_cut_errors(
    "mae",
    "Mean absolute error",
    "The mean difference between prediction and truth.",
    columns="averaged",
)
def clipped_errors(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return min(|error|, clip) / clip."""
    return np.abs(_errors(predicted, actual, params))


@_cut_errors(
    "rmse",
    "Root mean squared error",
    "The square root of the mean squared difference between prediction and truth.",
    transformed=True,
    scale=_ROOT,
)
@_cut_errors(
    "mse",
    "Mean squared error",
    "The mean squared difference between prediction and truth.",
    columns="averaged",
    scale=Scale(
        lambda loss, params: number(params, "clip") ** 2 * loss,
        lambda score, params: score / number(params, "clip") ** 2,
    ),
)
def clipped_squares(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return (min(|error|, clip) / clip)^2."""
    return np.square(_errors(predicted, actual, params))


@mean_metric(
    "rmsle",
    "Root mean squared logarithmic error",
    (
        "The square root of the mean squared difference between ln(1 + prediction) and "
        "ln(1 + truth). Predictions below 0 count as 0."
    ),
    takes=("number",),
    transformed=True,
    parameters=(LOG_CLIP,),
    scale=_ROOT,
    clipping="Differences of logarithms count up to {clip}.",
    errors=lambda predicted, actual: np.abs(_log(predicted) - _log(actual)),
    label_rule=not_negative,
)
def clipped_log_squares(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return (min(|difference of logarithms|, clip) / clip)^2."""
    return np.square(_errors(_log(predicted), _log(actual), params))


@mean_metric(
    "mape",
    "Mean absolute percentage error",
    "The mean difference between prediction and truth as a share of the truth.",
    takes=("number",),
    columns="averaged",
    parameters=(RELATIVE_CLIP,),
    scale=_LINEAR,
    clipping="A row's error counts up to {clip}, where 1 is 100 %.",
    errors=lambda predicted, actual: np.abs(predicted - actual) / np.abs(actual),
    label_rule=not_zero,
)
def relative_errors(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return min(|error| / |truth|, clip) / clip."""
    clip = number(params, "clip")
    with np.errstate(over="ignore"):  # an infinite error is cut like any large one
        errors = np.abs(predicted - actual)
        shares = errors / np.maximum(np.abs(actual), np.finfo(np.float64).eps)
    cut: Values = np.minimum(shares, clip) / clip
    return cut


@mean_metric(
    "smape",
    "Symmetric mean absolute percentage error",
    (
        "The mean of 2 |prediction - truth| / (|prediction| + |truth|): 2 means 200 %. A row "
        "with two zeros has no error."
    ),
    takes=("number",),
    columns="averaged",
    scale=Scale(lambda loss, _: 2.0 * loss, lambda score, _: score / 2.0),
)
def symmetric_errors(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return |p - y| / (|p| + |y|)."""
    larger = np.maximum(np.abs(predicted), np.abs(actual))
    p, y = (  # relative to the larger of the two, so that no sum is infinite
        np.divide(each, larger, out=np.zeros_like(larger), where=larger > 0)
        for each in (predicted, actual)
    )
    sizes = np.abs(p) + np.abs(y)
    losses: Values = np.divide(np.abs(p - y), sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return losses


@_cut_errors(
    "pinball",
    "Pinball loss",
    (
        "The mean loss of a predicted quantile q: q times the error where the truth is above the "
        "prediction, 1 - q times where it is below."
    ),
    columns="averaged",
    parameters=(QUANTILE, CLIP),
    scale=Scale(
        lambda loss, params: number(params, "clip") * _steeper(params) * loss,
        lambda score, params: score / (number(params, "clip") * _steeper(params)),
    ),
)
def pinball_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return max(q e, (q - 1) e) of the clipped error e, as a share of the largest."""
    quantile = number(params, "quantile")
    errors = -_errors(predicted, actual, params)
    losses: Values = np.maximum(quantile * errors, (quantile - 1) * errors) / _steeper(params)
    return np.minimum(losses, 1.0)


@_cut_errors_together(
    "median_absolute_error",
    "Median absolute error",
    "The median difference between prediction and truth.",
    weighted=False,
)
def median_error(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return the median of min(|error|, clip) / clip. No bound: two can be 0 and clip."""
    return float(np.median(clipped_errors(predicted, actual, params)))


@_cut_errors_together(
    "mcrmse",
    "Mean columnwise root mean squared error",
    "The root mean squared error of each column, averaged over the columns (Kaggle's MCRMSE).",
    columns="together",
    sensitivity=Sensitivity("*clip* / √rows", lambda predicted, actual: len(actual) ** -0.5),
)
def mean_of_roots(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
    """Return the mean over columns of the root of the mean of (min(|error|, clip) / clip)^2."""
    squares = np.average(clipped_squares(predicted, actual, params), axis=0, weights=weights)
    return min(1.0, float(np.sqrt(squares).mean()))


def _errors(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return differences cut to the clip, as shares of it: from -1 to 1."""
    clip = number(params, "clip")
    with np.errstate(over="ignore"):  # an infinite difference is cut like any large one
        errors = predicted - actual
    shares: Values = np.clip(errors, -clip, clip) / clip
    return shares


def _log(values: Values) -> Values:
    return np.log1p(np.maximum(values, 0.0))
