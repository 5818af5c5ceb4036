"""Metrics of labels. Labels arrive as int32 codes into the schema's classes."""

from fractions import Fraction

import numpy as np

from scoring.metrics.base import COMPLEMENT, Parameters, Values, mean_metric, set_function


@mean_metric(
    "error_rate",
    title="Error rate",
    description="The share of rows with a wrong label.",
    takes=("label",),
    units=1,
)
@mean_metric(
    "accuracy",
    title="Accuracy",
    description="The share of rows with the right label.",
    direction="maximize",
    takes=("label",),
    scale=COMPLEMENT,
    units=1,
)
def is_wrong(predicted: Values, actual: Values, params: Parameters) -> Values:
    """The 0/1 loss."""
    return np.not_equal(predicted, actual)


@set_function(
    "f1_macro",
    title="Macro F1",
    description=(
        "The F1 score of each class, averaged over the classes that occur among the labels or the "
        "predictions. A class that is never predicted rightly has an F1 of 0."
    ),
    takes=("label",),
)
def macro_f1_loss(predicted: Values, actual: Values, params: Parameters) -> Fraction:
    """1 - mean of 2 TP / (2 TP + FP + FN), exactly; as scikit-learn's with zero_division=0."""
    classes = 1 + int(max(predicted.max(), actual.max()))
    of_actual = np.bincount(actual, minlength=classes)
    of_predicted = np.bincount(predicted, minlength=classes)
    right = np.bincount(actual[predicted == actual], minlength=classes)
    occurrences = of_actual + of_predicted
    occurs = np.flatnonzero(occurrences)
    scores = sum(
        (Fraction(2 * int(right[each]), int(occurrences[each])) for each in occurs), Fraction(0)
    )
    return 1 - scores / len(occurs)
