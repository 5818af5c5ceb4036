"""Metrics of several labels for a row, and of ranked lists. Both arrive as `Lists` of codes."""

from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import COMPLEMENT, Parameters, Values, Weights, number
from scoring.metrics.registry import mean_metric, set_function
from scoring.parameters import Parameter
from scoring.predictions.lists import Lists

Integers = NDArray[np.int64]

K: Final = Parameter(
    name="k",
    title="Places that count",
    help="How many of a list's first places count; what stands further down is not looked at.",
    kind="integer",
    default=10,
    minimum=1,
    maximum=1000,
)
_of_labels = partial(mean_metric, takes=("labels",), scale=COMPLEMENT)
_of_rankings = partial(mean_metric, takes=("ranking",), scale=COMPLEMENT, parameters=(K,))


@_of_labels(
    "labels_jaccard",
    "Mean Jaccard index",
    (
        "For each row the labels that were predicted rightly as a share of all that were labelled "
        "or predicted, 1 where there are none; the mean over rows."
    ),
)
def jaccard_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return 1 - |both| / |either|."""
    both = _both(predicted, actual)
    return _missed(both, predicted.lengths + actual.lengths - both)


@_of_labels(
    "labels_f1",
    "Mean F1 of rows",
    (
        "For each row 2 TP / (2 TP + FP + FN) of its labels, 1 where nothing is labelled or "
        "predicted; the mean over rows."
    ),
)
def f1_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return 1 - 2 |both| / (|predicted| + |actual|)."""
    both = _both(predicted, actual)
    return _missed(2 * both, predicted.lengths + actual.lengths)


@_of_labels(
    "labels_exact",
    "Exact match of labels",
    "The share of rows with all labels right and none too many.",
    units=1,
)
def not_the_same(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return 1 where the sets differ."""
    both = _both(predicted, actual)
    differs: Values = (both != predicted.lengths) | (both != actual.lengths)
    return differs


@set_function(
    "labels_f1_micro",
    "Micro F1 of labels",
    "2 TP / (2 TP + FP + FN) over the labels of all rows; 0 where TP is 0.",
    takes=("labels",),
)
def micro_f1_loss(
    predicted: Lists, actual: Lists, params: Parameters, weights: Weights
) -> Fraction | float:
    """Return 1 - F1. One row can have as many labels as there are, so there is no useful bound."""
    both = _both(predicted, actual)
    listed = predicted.lengths + actual.lengths
    if weights is None:
        whole = int(listed.sum())
        return 1 - Fraction(2 * int(both.sum()), whole) if whole else Fraction(1)
    weighed = float(listed @ weights)
    return 1 - 2 * float(both @ weights) / weighed if weighed else 1.0


@_of_rankings(
    "map_at_k",
    "MAP@k",
    (
        "For each row the mean, over the relevant classes, of the precision at the place where "
        "each is found among the first k; a class counts at its first place only. The mean over "
        "rows, 0 for a row without relevant classes."
    ),
)
def average_precision_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return 1 - AP@k: sum of precisions at hits / min(k, relevant)."""
    k = int(number(params, "k"))
    hits, places = _hits(predicted, actual, k)
    so_far = np.concatenate([[0], np.cumsum(hits)])
    found = so_far[1:] - so_far[predicted.offsets[predicted.rows]]  # within the row
    gains = np.bincount(predicted.rows, np.where(hits, found / places, 0.0), len(predicted))
    return _missed(gains, np.minimum(actual.lengths, k), empty=1.0)


@_of_rankings(
    "ndcg_at_k",
    "NDCG@k",
    (
        "For each row the sum of 1 / log₂(place + 1) over the relevant classes found among the "
        "first k, as a share of the largest possible; a class counts at its first place only. The "
        "mean over rows, 0 for a row without relevant classes."
    ),
)
def discounted_losses(predicted: Lists, actual: Lists, params: Parameters) -> Values:
    """Return 1 - DCG@k / ideal DCG@k with gains of 0 and 1."""
    k = int(number(params, "k"))
    hits, places = _hits(predicted, actual, k)
    discounted = np.where(hits, 1 / np.log2(places + 1), 0.0)
    gains = np.bincount(predicted.rows, discounted, len(predicted))
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(1, k + 1) + 1))])
    return _missed(gains, ideal[np.minimum(actual.lengths, k)], empty=1.0)


def _is_relevant(predicted: Lists, actual: Lists) -> NDArray[np.bool_]:
    """Return whether the row of each predicted code has it."""
    return np.isin(_keys(predicted), _keys(actual))


def _both(predicted: Lists, actual: Lists) -> Integers:
    """Return how many codes both have in each row."""
    rows = predicted.rows[_is_relevant(predicted, actual)]
    return np.bincount(rows, minlength=len(predicted))


def _hits(predicted: Lists, actual: Lists, k: int) -> tuple[NDArray[np.bool_], Integers]:
    """Return which predicted codes are relevant, new and among the first k, and their places."""
    places = np.arange(1, len(predicted.codes) + 1) - predicted.offsets[predicted.rows]
    is_first = np.zeros(len(places), np.bool_)
    is_first[np.unique(_keys(predicted), return_index=True)[1]] = True
    return _is_relevant(predicted, actual) & is_first & (places <= k), places


def _keys(lists: Lists) -> Integers:
    keys: Integers = (lists.rows << 32) | lists.codes
    return keys


def _missed(part: Values, whole: Values, *, empty: float = 0.0) -> Values:
    """Return 1 - part / whole, `empty` where the whole is 0."""
    shares = np.divide(part, whole, out=np.full(len(part), 1.0 - empty), where=whole > 0)
    missed: Values = np.clip(1.0 - shares, 0.0, 1.0)
    return missed
