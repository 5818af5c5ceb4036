"""Metrics of labels. Labels arrive as int32 codes into the schema's classes.

One averaged score is declared for each way of averaging, since what is known of them differs: with
one label per row, micro averages are functions of the accuracy.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from scoring.metrics.base import (
    AS_LOSS,
    COMPLEMENT,
    Parameters,
    Scale,
    Sensitivity,
    SetLoss,
    Values,
    Weights,
)
from scoring.metrics.confusion import Floats, Tally, average, ratio
from scoring.metrics.labels import two_classes
from scoring.metrics.registry import mean_metric, set_function

_EVERY_CLASS: Final = "every class keeps a row with its label"
_share_of_rows = partial(mean_metric, takes=("label",), scale=COMPLEMENT, units=1)
_from_tally = partial(set_function, takes=("label",))


@_share_of_rows(
    "jaccard_micro",
    "Micro Jaccard index",
    (
        "Right labels over labels and predictions together, of all classes: with one label per "
        "row a / (2 - a) of the accuracy a."
    ),
    transformed=True,
    scale=Scale(
        lambda loss, _: (1.0 - loss) / (1.0 + loss), lambda score, _: (1.0 - score) / (1.0 + score)
    ),
)
@_share_of_rows(
    "f1_micro",
    "Micro F1",
    "F1 of all classes counted together: with one label per row it is the accuracy.",
)
@_share_of_rows(
    "recall_weighted",
    "Weighted recall",
    "Recall of each class, weighted by its rows: it is the accuracy.",
)
@mean_metric(
    "hamming",
    "Hamming loss",
    "The share of wrong labels; with several columns, the mean over them.",
    takes=("label",),
    columns="averaged",
)
@_share_of_rows("error_rate", "Error rate", "The share of rows with a wrong label.", scale=AS_LOSS)
@_share_of_rows("accuracy", "Accuracy", "The share of rows with the right label.")
def is_wrong(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return the 0/1 loss."""
    return np.not_equal(predicted, actual)


@_share_of_rows(
    "exact_match",
    "Exact match",
    "The share of rows with the right label in every column.",
    columns="together",
)
def any_wrong(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return 1 where a column is wrong."""
    wrong: Values = np.any(predicted != actual, axis=1)
    return wrong


def _smallest(labels: Values) -> int:
    counts = np.bincount(labels)
    return int(counts[counts > 0].min())


def _classes(predicted: Values, actual: Values) -> int:
    return 1 + int(max(predicted.max(), actual.max()))


def _every_class(predicted: Values, actual: Values, changed: Values) -> bool:
    classes = max(_classes(predicted, actual), _classes(predicted, changed))
    return all(np.all(np.bincount(each, minlength=classes)) for each in (actual, changed))


def _binary(formula: str, bound: Callable[[int, int], float]) -> Sensitivity:
    """Return a sensitivity by the rows that are labelled and those that are predicted positive."""
    return Sensitivity(
        formula, lambda p, a: bound(int(np.count_nonzero(a)), int(np.count_nonzero(p)))
    )


def _macro(factor: int) -> Sensitivity:
    return Sensitivity(
        f"{factor} / (classes × rows of the smallest class)",
        lambda p, a: factor / (_classes(p, a) * _smallest(a)),
        _EVERY_CLASS,
        _every_class,
    )


_MACRO_PRECISION = Sensitivity(
    "1 / (classes × rows of the class predicted least, of those that are predicted)",
    lambda p, a: 1 / (_classes(p, a) * _smallest(p)),
    _EVERY_CLASS,
    _every_class,
)
_TWO_ROWS = Sensitivity("2 / rows", lambda p, a: 2 / len(a), always=2)

PerClass = Callable[[Tally], Floats]


def _recalls(tally: Tally) -> Floats:
    return ratio(tally.right, tally.actual)


def _averaged(scores: PerClass, over: Callable[[Tally, Floats], float]) -> SetLoss:
    def loss(predicted: Values, actual: Values, params: Parameters, weights: Weights) -> float:
        tally = Tally.of(predicted, actual, weights)
        return max(0.0, 1.0 - over(tally, scores(tally)))

    return loss


def _declare(  # the four scores of a class, each averaged over classes in up to three ways
    name: str,
    title: str,
    meaning: str,
    scores: PerClass,
    *,
    binary: Sensitivity,
    macro: Sensitivity,
    weighted: Sensitivity | None,
) -> None:
    _from_tally(
        name,
        title=title[0].upper() + title[1:],
        description=f"{meaning} Of the last of two classes, which counts as positive.",
        sensitivity=binary,
        column_rule=two_classes,
    )(_averaged(scores, lambda _, each: float(each[1])))
    _from_tally(
        f"{name}_macro",
        title=f"Macro {title}",
        description=(
            f"{meaning} Averaged over the classes that occur among the labels or predictions."
        ),
        sensitivity=macro,
    )(_averaged(scores, lambda tally, each: average(each[tally.occurs])))
    if name == "recall":  # its weighted average is the accuracy, a mean
        return
    _from_tally(
        f"{name}_weighted",
        title=f"Weighted {title}",
        description=f"{meaning} Averaged over classes, each weighted by its rows.",
        sensitivity=weighted,
    )(_averaged(scores, lambda tally, each: average(each, tally.actual)))


_declare(
    "precision",
    "precision",
    "The share of right ones among the rows predicted to be of a class; 0 where there are none.",
    lambda tally: ratio(tally.right, tally.predicted),
    binary=_binary("1 / (rows predicted positive)", lambda p, predicted: 1 / max(predicted, 1)),
    macro=_MACRO_PRECISION,
    weighted=None,
)
_declare(
    "recall",
    "recall",
    "The share of a class's rows that are predicted to be of it; 0 where there are none.",
    _recalls,
    binary=_binary("1 / (rows labelled positive)", lambda p, _: 1 / max(p, 1)),
    macro=_macro(2),
    weighted=None,
)
_declare(
    "f1",
    "F1",
    "2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall; 0 where TP is 0.",
    lambda tally: ratio(2 * tally.right, tally.actual + tally.predicted),
    binary=_binary(
        "2 / (rows labelled positive + rows predicted positive)",
        lambda p, predicted: 2 / max(p + predicted, 1),
    ),
    macro=_macro(4),
    weighted=_TWO_ROWS,
)
_declare(
    "jaccard",
    "Jaccard index",
    "TP / (TP + FP + FN), the overlap of labelled and predicted rows; 0 where TP is 0.",
    lambda tally: ratio(tally.right, tally.actual + tally.predicted - tally.right),
    binary=_binary(
        "1 / (the larger of rows labelled and rows predicted positive)",
        lambda p, predicted: 1 / max(p, predicted, 1),
    ),
    macro=_macro(2),
    weighted=_TWO_ROWS,
)


_from_tally(
    "balanced_accuracy",
    "Balanced accuracy",
    "The share of right rows of each class, averaged over the classes that have rows.",
    sensitivity=_macro(2),
)(_averaged(_recalls, lambda tally, each: average(each[tally.actual > 0])))
