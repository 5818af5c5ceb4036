"""Each metric beside scikit-learn's, scipy's, or a slow one of its own, on random and degenerate
data, with and without weights."""

import math
import string
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from scoring.metrics import METRICS, Metric, get, ordering
from scoring.predictions import texts
from tests.scoring.samples import EIGHTHS, SAID, pairs, rows_of, weights

Values = NDArray[Any]
Weights = Values | None
# (labels, predictions, weights or None) -> score
Reference = Callable[[Values, Values, Weights], float]

FEWER = settings().max_examples // 10
# Nothing is cut in files of eighths up to 100.
PARAMETERS = {
    "expression": {"high": "1000"},
    "mae": {"clip": "1000"},
    "mse": {"clip": "1000"},
    "rmse": {"clip": "1000"},
    "mcrmse": {"clip": "1000"},
    "rmsle": {"clip": "1000"},
    "mape": {"clip": "1000000"},
    "pinball": {"clip": "1000", "quantile": "0.8"},
    "median_absolute_error": {"clip": "1000"},
    "r2": {"floor": "-1000"},
    "top_k_accuracy": {"k": "2"},
    "map_at_k": {"k": "3"},
    "ndcg_at_k": {"k": "3"},
    "log_loss": {"clip": "0.01"},
    "log_loss_multiclass": {"clip": "0.01"},
}


@pytest.fixture(autouse=True)
def _quiet_references() -> Iterator[None]:
    """References warn of what they leave undefined; ours may not, see `test_metrics`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def sklearn_score(name: str, **options: Any) -> Reference:
    score = getattr(sklearn.metrics, name)

    def of(actual: Values, predicted: Values, weight: Weights) -> float:
        return float(score(actual, predicted, sample_weight=weight, **options))

    return of


def of_class(name: str, average: str) -> Reference:
    """A score of each class, with 0 where it is undefined."""
    return sklearn_score(f"{name}_score", average=average, zero_division=0.0)


def negated(reference: Reference) -> Reference:
    return lambda actual, predicted, weight: 1 - reference(actual, predicted, weight)


def zero_if_undefined(reference: Reference) -> Reference:
    def of(actual: Values, predicted: Values, weight: Weights) -> float:
        score = reference(actual, predicted, weight)
        return 0.0 if math.isnan(score) else score

    return of


def area(actual: Values, predicted: Values, weight: Weights) -> float:
    if len(np.unique(actual)) < 2:
        return 0.5
    return float(sklearn.metrics.roc_auc_score(actual, predicted, sample_weight=weight))


def mean_area(actual: Values, predicted: Values, weight: Weights) -> float:
    areas = [area(*each, weight) for each in zip(actual.T, predicted.T, strict=True)]
    return float(np.mean(areas))


def precision(actual: Values, predicted: Values, weight: Weights) -> float:
    if not np.any(actual):
        return 0.0
    return float(sklearn.metrics.average_precision_score(actual, predicted, sample_weight=weight))


def as_shares(predicted: Values) -> Values:
    sums = predicted.sum(axis=1, keepdims=True)
    return np.where(sums > 0, predicted / np.where(sums > 0, sums, 1), 1 / predicted.shape[1])


def log_loss(actual: Values, predicted: Values, weight: Weights) -> float:
    clipped = np.clip(predicted, 0.01, 0.99)
    both = np.column_stack([1 - clipped, clipped])
    return float(sklearn.metrics.log_loss(actual, both, labels=[0, 1], sample_weight=weight))


def log_loss_of_classes(actual: Values, predicted: Values, weight: Weights) -> float:
    given = (as_shares(predicted) * actual).sum(axis=1)
    return float(np.average(-np.log(np.clip(given, 0.01, 0.99)), weights=weight))


def brier_of_classes(actual: Values, predicted: Values, weight: Weights) -> float:
    return float(
        sklearn.metrics.brier_score_loss(
            actual, as_shares(predicted), sample_weight=weight, scale_by_half=True
        )
    )


def top_2(actual: Values, predicted: Values, weight: Weights) -> float:
    codes = actual.argmax(axis=1)
    return float(
        sklearn.metrics.top_k_accuracy_score(
            codes, predicted, k=2, labels=[0, 1, 2], sample_weight=weight
        )
    )


def r2(actual: Values, predicted: Values, weight: Weights) -> float:
    if np.all(actual == actual[0]):  # scikit-learn wants two rows
        return float(np.array_equal(actual, predicted))
    score = sklearn.metrics.r2_score(actual, predicted, sample_weight=weight)
    return max(-1000.0, float(score))


def pearson(actual: Values, predicted: Values, weight: Weights) -> float:
    if weight is None:
        weight = np.ones(len(actual))
    moments = [
        sum((Fraction(w) * Fraction(x) * Fraction(y) for w, x, y in zip(weight, a, b, strict=True)))
        / sum(map(Fraction, weight))
        for a, b in ((actual, predicted), (actual, actual), (predicted, predicted))
    ]
    one = np.ones(len(actual))
    means = [
        sum((Fraction(w) * Fraction(x) for w, x, _ in zip(weight, a, one, strict=True)))
        / sum(map(Fraction, weight))
        for a in (actual, predicted)
    ]
    together = moments[0] - means[0] * means[1]
    spread = (moments[1] - means[0] ** 2) * (moments[2] - means[1] ** 2)
    return float(together) / math.sqrt(spread) if spread else 0.0


def spearman(actual: Values, predicted: Values, weight: Weights) -> float:
    if len(actual) < 2:
        return 0.0
    return float(scipy.stats.spearmanr(actual, predicted).statistic)


def symmetric(actual: Values, predicted: Values, weight: Weights) -> float:
    sizes = np.abs(actual) + np.abs(predicted)
    errors = 2 * np.abs(actual - predicted) / np.where(sizes > 0, sizes, 1)
    return float(np.average(errors, weights=weight))


def log_error(actual: Values, predicted: Values, weight: Weights) -> float:
    return float(
        sklearn.metrics.root_mean_squared_log_error(
            actual, np.maximum(predicted, 0), sample_weight=weight
        )
    )


def relative(actual: Values, predicted: Values, weight: Weights) -> float:
    """An error at a label of 0 is cut, so it has no reference there."""
    rows = actual != 0
    if not np.any(rows):
        return math.nan
    return sklearn_score("mean_absolute_percentage_error")(
        actual[rows], predicted[rows], None if weight is None else weight[rows]
    )


def pairwise_concordance(actual: Values, predicted: Values, weight: Weights = None) -> float:
    return concordance(actual, np.ones(len(actual), bool), predicted)


def concordance(times: Values, happened: Values, predicted: Values) -> float:
    """Harrell's, pair by pair."""
    right, comparable = Fraction(0), 0
    for i in range(len(times)):
        for j in range(len(times)):
            is_later = times[i] < times[j] or (times[i] == times[j] and not happened[j])
            if i != j and happened[i] and is_later:
                comparable += 1
                right += Fraction(
                    2 * int(predicted[i] < predicted[j]) + int(predicted[i] == predicted[j]), 2
                )
    return float(right / comparable) if comparable else 0.5


def by_row(score: Callable[[list[int], list[int]], float]) -> Reference:
    """The mean over rows of a score of two lists, the truth and the prediction."""

    def of(actual: Values, predicted: Values, weight: Weights) -> float:
        scores = [score(*each) for each in zip(rows_of(actual), rows_of(predicted), strict=True)]
        return float(np.average(scores, weights=weight))

    return of


def row_jaccard(actual: list[int], predicted: list[int]) -> float:
    either = set(actual) | set(predicted)
    return len(set(actual) & set(predicted)) / len(either) if either else 1.0


def row_f1(actual: list[int], predicted: list[int]) -> float:
    both = len(set(actual) & set(predicted))
    return 2 * both / (len(actual) + len(predicted)) if actual or predicted else 1.0


def kaggles_apk(actual: list[int], predicted: list[int]) -> float:
    """Hamner's apk with k = 3, as on Kaggle."""
    score, hits = 0.0, 0.0
    for place, code in enumerate(predicted[:3]):
        if code in actual and code not in predicted[:place]:
            hits += 1.0
            score += hits / (place + 1.0)
    return score / min(len(actual), 3) if actual else 0.0


def row_ndcg(actual: list[int], predicted: list[int]) -> float:
    """scikit-learn's NDCG@3 of the classes and places nobody named."""
    if not actual:
        return 0.0
    gains = [float(c in actual and c not in predicted[:i]) for i, c in enumerate(predicted)]
    rest = [1.0] * (len(actual) - int(sum(gains))) + [0.0] * 5
    order = np.arange(len(gains) + len(rest), 0, -1)
    padded = gains + [0.0] * 5 + rest[:-5]  # what is missing stands below all places
    truth = np.array(padded)
    return float(sklearn.metrics.ndcg_score(truth[None, :], order[None, : len(truth)], k=3))


def micro_f1(actual: Values, predicted: Values, weight: Weights) -> float:
    truth, guess = (
        np.array([[float(code in row) for code in range(4)] for row in rows_of(each)])
        for each in (actual, predicted)
    )
    return float(
        sklearn.metrics.f1_score(
            truth, guess, average="micro", zero_division=0.0, sample_weight=weight
        )
    )


def exact_match(actual: Values, predicted: Values, weight: Weights) -> float:
    return float(np.average(np.all(actual == predicted, axis=1), weights=weight))


CHOICES = dict(zip(SAID, (1, 1, 1, 2, 2, None, None, None, None), strict=True)) | {"7.0": None}
NUMBERS = dict(zip(SAID, (None, None, 1000, None, 1000, None, None, -7, 7), strict=True))


def squad(said: str) -> str | None:
    """SQuAD's steps one by one."""
    plain = "".join(each for each in said.lower() if each not in string.punctuation)
    words = [word for word in plain.split() if word not in ("a", "an", "the")]
    return " ".join(words) or None


def by_answer(read: Callable[[str], object]) -> Reference:
    def row(actual: list[str], predicted: list[str]) -> float:
        accepted = [read(each) for each in actual]
        right = [read(each) in accepted and read(each) is not None for each in predicted]
        return sum(right) / len(right)

    def of(actual: Any, predicted: Any, weight: Weights) -> float:
        both = zip(texts.rows(actual), texts.rows(predicted), strict=True)
        return float(np.average([row(*each) for each in both], weights=weight))

    return of


REFERENCES: dict[str, Reference] = {
    "text_exact": by_answer(str.strip),
    "text_normalized": by_answer(squad),
    "text_number": by_answer(NUMBERS.__getitem__),
    "text_choice": by_answer(CHOICES.__getitem__),
    "accuracy": sklearn_score("accuracy_score"),
    "error_rate": negated(sklearn_score("accuracy_score")),
    "hamming": sklearn_score("hamming_loss"),
    "exact_match": exact_match,
    "balanced_accuracy": sklearn_score("balanced_accuracy_score"),
    "precision": of_class("precision", "binary"),
    "recall": of_class("recall", "binary"),
    "f1": of_class("f1", "binary"),
    "jaccard": of_class("jaccard", "binary"),
    "precision_macro": of_class("precision", "macro"),
    "recall_macro": of_class("recall", "macro"),
    "f1_macro": of_class("f1", "macro"),
    "jaccard_macro": of_class("jaccard", "macro"),
    "f1_micro": of_class("f1", "micro"),
    "jaccard_micro": of_class("jaccard", "micro"),
    "precision_weighted": of_class("precision", "weighted"),
    "recall_weighted": of_class("recall", "weighted"),
    "f1_weighted": of_class("f1", "weighted"),
    "jaccard_weighted": of_class("jaccard", "weighted"),
    "mcc": sklearn_score("matthews_corrcoef"),
    "kappa": zero_if_undefined(sklearn_score("cohen_kappa_score")),
    "quadratic_kappa": zero_if_undefined(
        sklearn_score("cohen_kappa_score", weights="quadratic", labels=[0, 1, 2, 3])
    ),
    "labels_jaccard": by_row(row_jaccard),
    "labels_f1": by_row(row_f1),
    "labels_exact": by_row(lambda actual, predicted: float(actual == predicted)),
    "labels_f1_micro": micro_f1,
    "map_at_k": by_row(kaggles_apk),
    "ndcg_at_k": by_row(row_ndcg),
    "brier": sklearn_score("brier_score_loss", labels=[0, 1]),
    "brier_multiclass": brier_of_classes,
    "log_loss": log_loss,
    "log_loss_multiclass": log_loss_of_classes,
    "top_k_accuracy": top_2,
    "roc_auc": area,
    "gini": lambda actual, predicted, weight: 2 * area(actual, predicted, weight) - 1,
    "roc_auc_ovr": mean_area,
    "average_precision": precision,
    "concordance": pairwise_concordance,
    "expression": sklearn_score("mean_absolute_error"),
    "mae": sklearn_score("mean_absolute_error"),
    "mse": sklearn_score("mean_squared_error"),
    "rmse": sklearn_score("root_mean_squared_error"),
    "mcrmse": sklearn_score("root_mean_squared_error"),
    "rmsle": log_error,
    "mape": relative,
    "smape": symmetric,
    "pinball": sklearn_score("mean_pinball_loss", alpha=0.8),
    "median_absolute_error": sklearn_score("median_absolute_error"),
    "r2": r2,
    "pearson": pearson,
    "spearman": zero_if_undefined(spearman),
}


def test_every_metric_has_a_reference() -> None:
    assert set(REFERENCES) == set(METRICS)


def compare(metric: Metric, predicted: Values, actual: Values, weight: Weights) -> None:
    if metric.name == "mape":
        actual = np.where(actual == 0, 1.0, actual)
    params = metric.parse(PARAMETERS.get(metric.name, {}))
    ours = metric.evaluate(predicted, actual, params, weight)
    # A row without weight isn't there for us; scikit-learn still counts its class.
    there = np.ones(len(actual), np.bool_) if weight is None else weight > 0
    weight = None if weight is None else weight[there]
    theirs = REFERENCES[metric.name](actual[there], predicted[there], weight)
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
@settings(max_examples=FEWER)
@given(data=st.data())
def test_every_metric_equals_its_reference(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric, EIGHTHS))
    compare(metric, predicted, actual, None)


WEIGHTED = {name: metric for name, metric in METRICS.items() if metric.weighted}


@pytest.mark.parametrize("metric", WEIGHTED.values(), ids=WEIGHTED.keys())
@settings(max_examples=FEWER)
@given(data=st.data())
def test_every_metric_equals_its_weighted_reference(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric, EIGHTHS))
    compare(metric, predicted, actual, data.draw(weights(len(actual))))


@given(data=st.data())
def test_the_area_is_the_share_of_pairs_in_order(data: st.DataObject) -> None:
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    predicted = data.draw(arrays(np.float64, st.integers(1, 40), elements=numbers))
    actual = data.draw(arrays(np.float64, len(predicted), elements=st.sampled_from([0.0, 1.0])))
    ones, zeros = predicted[actual == 1], predicted[actual == 0]
    comparisons = [Fraction(int(a > b) * 2 + int(a == b), 2) for a in ones for b in zeros]
    share = sum(comparisons, Fraction(0)) / len(comparisons) if comparisons else Fraction(1, 2)
    assert get("roc_auc").evaluate(predicted, actual, {}) == pytest.approx(float(share), abs=1e-15)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
@given(data=st.data())
def test_ranking_takes_numbers_of_both_signs_with_ties(name: str, data: st.DataObject) -> None:
    few = st.sampled_from([-2.0, -0.0, 0.0, 1e-300, 5.0])
    predicted = data.draw(arrays(np.float64, st.integers(1, 40), elements=few))
    actual = data.draw(arrays(np.float64, len(predicted), elements=st.sampled_from([0.0, 1.0])))
    compare(get(name), predicted, actual, None)


@settings(max_examples=FEWER)
@given(data=st.data())
def test_keys_are_sorted_alike_in_several_threads(data: st.DataObject) -> None:
    few = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
    predicted = data.draw(arrays(np.float64, st.integers(4, 40), elements=few | st.floats(0, 1)))
    actual = data.draw(arrays(np.float64, len(predicted), elements=st.sampled_from([0.0, 1.0])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "_ALONE", 4)
        patch.setattr(ordering, "_SAMPLE", 4)
        patch.setattr("pyarrow.cpu_count", lambda: 3)
        compare(get("roc_auc"), predicted, actual, None)
        compare(get("average_precision"), predicted, actual, None)


@given(data=st.data())
def test_concordance_of_censored_times_is_harrells(data: st.DataObject) -> None:
    few = st.integers(0, 8).map(float)
    times = data.draw(arrays(np.float64, st.integers(1, 40), elements=st.integers(1, 8)))
    happened = data.draw(arrays(np.bool_, len(times)))
    predicted = data.draw(arrays(np.float64, len(times), elements=few))
    metric = get("concordance")
    params = metric.parse({"censored": "negative"})
    ours = metric.evaluate(predicted, np.where(happened, times, -times), params)
    assert ours == pytest.approx(concordance(times, happened, predicted), abs=1e-15)


@given(data=st.data())
def test_concordance_is_scipys_tau_on_many_rows(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    actual, predicted = random.normal(size=(2, 300))
    tau = float(scipy.stats.kendalltau(actual, predicted).statistic)
    evaluate = partial(get("concordance").evaluate, predicted, actual)
    ours = evaluate(get("concordance").parse({}))
    assert ours == pytest.approx((tau + 1) / 2, abs=1e-12)


@given(data=st.data())
def test_pearson_is_scipys_on_ordinary_data(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    actual, predicted = random.normal(size=(2, 50))
    theirs = float(scipy.stats.pearsonr(actual, predicted).statistic)
    assert get("pearson").evaluate(predicted, actual, {}) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_values_that_differ_by_less_than_their_digits_are_equal(name: str) -> None:
    almost = np.array([1.0, 1.0 + 2e-16, 1.0]) if name == "pearson" else np.ones(3)
    assert get(name).evaluate(almost, np.array([1.0, 2.0, 3.0]), {}) == 0.0
