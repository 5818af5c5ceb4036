"""Laws that every registered metric keeps."""

import copy
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean
from scoring.mechanisms import MECHANISMS
from scoring.metrics import METRICS, Metric, base, get
from scoring.metrics.base import FINE
from scoring.parameters import show
from scoring.predictions import (
    Column,
    Predictions,
    RowIds,
    Schema,
    Solution,
    Usage,
    read_solution,
)
from tests.scoring.samples import columns_of, pairs, perfect, weights

Values = NDArray[Any]

# A law is tried on every metric, so fewer examples of each will do.
FEWER = settings().max_examples // 10
EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())


@cache
def ids_of(rows: int) -> RowIds:
    return RowIds([str(row) for row in range(rows)])


def files(metric: Metric, *columns: tuple[Values, Values]) -> tuple[Predictions, Solution]:
    """Predictions and solution with the given columns, or one matrix of them; all rows private."""
    if metric.columns == "together":
        ((predicted, actual),) = columns
        columns = tuple(zip(predicted.T, actual.T, strict=True))
    rows = len(columns[0][0])
    row_ids = ids_of(rows)
    schema = Schema("id", columns_of(metric, len(columns)))
    names = [column.name for column in schema.columns]
    guesses, labels = (
        {name: copy.deepcopy(each[which]) for name, each in zip(names, columns, strict=True)}
        for which in (0, 1)
    )
    usage = np.full(rows, Usage.PRIVATE, np.int8)
    predictions = Predictions(schema, guesses, row_ids)
    return predictions, Solution(schema, labels, usage, row_ids.digest)


def measured(
    metric: Metric,
    *columns: tuple[Values, Values],
    mask: Values | None = None,
    weights: Values | None = None,
) -> Mean:
    predictions, solution = files(metric, *columns)
    if weights is not None:
        solution = replace(solution, weights=weights.copy())
    chosen = np.ones(predictions.rows, np.bool_) if mask is None else mask
    return metric.measure(predictions, solution, chosen, metric.parse({}))


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(data=st.data())
def test_every_metric_is_total(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric))
    mean = measured(metric, (predicted, actual))
    score = metric.score(mean.units / mean.whole, metric.parse({}))
    assert math.isfinite(score)
    assert mean.rows == len(predicted)
    assert mean.resolution == metric.units
    assert mean.additive == metric.is_mean


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(data=st.data())
def test_quantising_moves_a_loss_by_half_a_unit_at_most(
    metric: Metric, data: st.DataObject
) -> None:
    predicted, actual = data.draw(pairs(metric))
    params = metric.parse({})
    mean = measured(metric, (predicted, actual))
    exact = metric.loss(metric.evaluate(predicted, actual, params), params)
    assert abs(mean.units / mean.whole - exact) <= metric.rounding(weighted=False) + 1e-9


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric))
    order = data.draw(st.permutations(range(len(predicted))))
    once, again = (
        measured(metric, (predicted, actual)),
        measured(metric, (predicted[order], actual[order])),
    )
    assert once.rows == again.rows
    # Sums of floats may differ in their last digits, and so by one unit.
    assert abs(once.units - again.units) <= (0 if metric.is_mean else 1)


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(data=st.data())
def test_only_the_rows_of_the_mask_count(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric))
    mask = data.draw(arrays(np.bool_, len(predicted)).filter(np.any))
    inside = measured(metric, (predicted, actual), mask=mask)
    alone = measured(metric, (predicted[mask], actual[mask]))
    assert (inside.units, inside.rows) == (alone.units, alone.rows)


@EVERY_METRIC
@settings(max_examples=5)
@given(data=st.data())
def test_many_rows_are_measured_a_part_at_a_time(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric))
    mask = data.draw(arrays(np.bool_, len(predicted)).filter(np.any))
    whole = measured(metric, (predicted, actual), mask=mask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_PART", 3)
        in_parts = measured(metric, (predicted, actual), mask=mask)
    assert (in_parts.units, in_parts.rows) == (whole.units, whole.rows)


WEIGHTED = [metric for metric in METRICS.values() if metric.weighted]


@pytest.mark.parametrize("metric", WEIGHTED, ids=lambda metric: metric.name)
@settings(max_examples=FEWER)
@given(data=st.data())
def test_a_weighted_loss_counts_as_the_rows_that_weigh_most(
    metric: Metric, data: st.DataObject
) -> None:
    predicted, actual = data.draw(pairs(metric))
    weight = data.draw(weights(len(actual)))
    params = metric.parse({})
    mean = measured(metric, (predicted, actual), weights=weight)
    heavy = math.floor(weight.sum() / weight.max())
    assert (mean.rows, mean.additive) == (heavy, metric.is_mean)
    exact = metric.loss(metric.evaluate(predicted, actual, params, weight), params)
    assert abs(mean.units / mean.whole - exact) <= 0.5 / FINE + 1e-9


@pytest.mark.parametrize("metric", WEIGHTED, ids=lambda metric: metric.name)
@settings(max_examples=FEWER)
@given(data=st.data())
def test_equal_weights_change_nothing(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(pairs(metric))
    weight = np.full(len(actual), data.draw(st.sampled_from([1.0, 0.1, 1e-9, 7e12])))
    plain = measured(metric, (predicted, actual))
    same = measured(metric, (predicted, actual), weights=weight)
    assert same.rows == plain.rows
    assert same.units / same.whole == pytest.approx(plain.units / plain.whole, abs=1.1 / FINE)


@given(data=st.data())
def test_one_row_moves_a_weighted_mean_by_one_row_at_most(data: st.DataObject) -> None:
    metric = get("accuracy")
    predicted, actual = data.draw(pairs(metric))
    weight, row = data.draw(weights(len(actual))), data.draw(st.integers(0, len(actual) - 1))
    changed = actual.copy()
    changed[row] = (changed[row] + 1) % 4
    before, after = (
        measured(metric, (predicted, each), weights=weight) for each in (actual, changed)
    )
    assert abs(before.units - after.units) <= before.resolution


@given(data=st.data())
def test_a_weighted_mean_is_as_near_as_its_rounding_says(data: st.DataObject) -> None:
    metric = get("accuracy")
    predicted, actual = data.draw(pairs(metric))
    weight = data.draw(weights(len(actual)))
    mean = measured(metric, (predicted, actual), weights=weight)
    wrong = sum((Fraction(w) for w in weight[predicted != actual]), Fraction(0))
    exact = wrong / sum(map(Fraction, weight))
    assert abs(Fraction(mean.units, mean.whole) - exact) <= metric.rounding(weighted=True)


def test_a_metric_without_weights_refuses_them() -> None:
    _, solution = files(get("concordance"), (np.zeros(2), np.arange(2.0)))
    weighted = replace(solution, weights=np.ones(2))
    with pytest.raises(ParameterError, match="Concordance index takes no weights; the solution"):
        get("concordance").check(solution.schema, weighted, {"censored": "none"})


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(loss=st.floats(0, 1), other=st.floats(0, 1))
def test_scores_are_monotone_within_their_range(metric: Metric, loss: float, other: float) -> None:
    params = metric.parse({})
    worst, best = metric.score_range(params)
    sign = 1 if metric.direction == "maximize" else -1
    assert (best > worst) == (sign == 1)
    low, high = sorted((loss, other))
    assert sign * metric.score(low, params) >= sign * metric.score(high, params)
    assert min(worst, best) <= metric.score(loss, params) <= max(worst, best)


@EVERY_METRIC
@settings(max_examples=FEWER)
@given(loss=st.floats(0, 1))
def test_a_score_tells_its_loss(metric: Metric, loss: float) -> None:
    params = metric.parse({})
    assert metric.loss(metric.score(loss, params), params) == pytest.approx(loss, abs=1e-12)


@EVERY_METRIC
@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan, 1e308, -5.0])
def test_a_score_out_of_range_has_a_loss_too(metric: Metric, score: float) -> None:
    assert 0 <= metric.loss(score, metric.parse({})) <= 1


@EVERY_METRIC
def test_perfect_predictions_have_the_best_score(metric: Metric) -> None:
    actual = perfect(metric)
    params = metric.parse({})
    assert metric.evaluate(actual, actual, params) == pytest.approx(metric.score_range(params)[1])
    assert measured(metric, (actual, actual)).units == 0


@EVERY_METRIC
def test_every_metric_is_declared_for_people(metric: Metric) -> None:
    assert METRICS[metric.name] is get(metric.name) is metric
    assert metric.title
    assert metric.description.endswith(".")
    for parameter in metric.parameters:
        assert parameter.parse(parameter.default) == parameter.default
    facts = metric.facts(metric.parse({}))
    assert facts[0] == metric.description
    assert all(fact.endswith(".") and "{" not in fact for fact in facts)


@EVERY_METRIC
def test_a_metric_that_is_bounded_by_cutting_says_where(metric: Metric) -> None:
    cuts = [p for p in metric.parameters if p.name in ("clip", "floor")]
    assert bool(cuts) == bool(metric.clipping)
    for parameter in cuts:
        assert show(Fraction(parameter.default)) in metric.facts(metric.parse({}))[2]


@EVERY_METRIC
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mechanism_is_allowed_or_the_reason_is_given(metric: Metric, mechanism: str) -> None:
    reason = metric.allows(MECHANISMS[mechanism])
    chosen = MECHANISMS[mechanism]
    assert (reason is None) == (metric.is_mean or chosen.metric_kinds is None)
    assert reason is None or (reason.startswith(f"{chosen.title} can't") and reason.endswith("."))


@EVERY_METRIC
def test_no_rows_have_no_mean(metric: Metric) -> None:
    actual = perfect(metric)
    with pytest.raises(StateError, match="at least one row"):
        measured(metric, (actual, actual), mask=np.zeros(len(actual), np.bool_))


def test_accuracy_counts_rows_exactly() -> None:
    predicted, actual = np.array([0, 1, 2, 3], np.int32), np.array([0, 1, 1, 1], np.int32)
    mean = measured(get("accuracy"), (predicted, actual))
    assert (mean.units, mean.rows, mean.resolution) == (2, 4, 1)


def test_log_loss_spans_what_the_clip_leaves() -> None:
    metric = get("log_loss")
    params = metric.parse({"clip": "0.01"})
    worst, best = metric.score_range(params)
    assert worst == pytest.approx(-math.log(0.01), abs=1e-12)
    assert best == pytest.approx(-math.log(0.99), abs=1e-12)
    assert worst - best == pytest.approx(4.59512, abs=1e-5)  # theory.md's logloss_range


@pytest.mark.parametrize(("name", "worst"), [("mse", 100.0), ("rmse", 10.0), ("mae", 10.0)])
def test_errors_count_up_to_the_bound(name: str, worst: float) -> None:
    metric = get(name)
    params = metric.parse({"clip": "10"})
    far = metric.evaluate(np.array([1e308, 5.0]), np.array([-1e308, 1e9]), params)
    assert far == metric.score_range(params)[0] == worst


@pytest.mark.parametrize("name", ["mse", "mae", "brier", "log_loss"])
def test_several_columns_are_averaged_within_a_row(name: str) -> None:
    metric = get(name)
    actual = np.array([0.0, 1.0, 1.0])
    first, second = np.array([0.5, 0.25, 1.0]), np.array([0.125, 1.0, 0.0])
    together = measured(metric, (first, actual), (second, actual))
    alone = [measured(metric, (each, actual)) for each in (first, second)]
    assert together.rows == 3
    assert abs(2 * together.units - sum(each.units for each in alone)) <= 6


def label(*names: str) -> Schema:
    return Schema("id", tuple(Column(name, "label", ("a", "b")) for name in names))


def chance(*names: str) -> Schema:
    return Schema("id", tuple(Column(name, "probability") for name in names))


def value(*names: str) -> Schema:
    return Schema("id", tuple(Column(name, "number") for name in names))


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("accuracy", chance("p"), "Accuracy takes label; `p` is a probability."),
        ("accuracy", label("x", "y"), "Accuracy needs one label column; the schema has 2."),
        ("rmse", value("x", "y"), "Root mean squared error needs one number column; the schema"),
        ("roc_auc", label("x"), "ROC AUC takes probability or number; `x` is a label."),
        ("mse", label("x"), "Mean squared error takes number; `x` is a label."),
        ("brier", value("x"), "Brier score takes probability; `x` is a number."),
    ],
)
def test_a_schema_that_does_not_fit_is_explained(name: str, schema: Schema, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        get(name).check(schema, None, get(name).parse({}))
    assert caught.value.field == "metric"
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("name", ["mse", "mae"])
def test_several_columns_fit_where_they_are_averaged(name: str) -> None:
    get(name).check(value("x", "y"), None, get(name).parse({}))


def solution_with(labels: list[float], usage: list[int], kind: str = "number") -> Solution:
    schema = value("y") if kind == "number" else chance("y")
    columns = {"y": np.array(labels, np.float64)}
    return Solution(schema, columns, np.array(usage, np.int8), "digest")


@pytest.mark.parametrize(
    ("name", "labels", "usage", "message"),
    [
        ("brier", [0, 0.5], [1, 1], "Brier score, private rows, column `y`: labels are 0 or 1; "),
        ("log_loss", [0, 2], [1, 0], "Log loss, public rows, column `y`: labels are 0 or 1; 2 "),
        ("roc_auc", [0, 1, 3], [1, 1, 2], "ROC AUC, final rows, column `y`: labels are 0 or 1; "),
        ("roc_auc", [1, 1, 0], [1, 1, 0], "ROC AUC, private rows, column `y`: all labels are 1, "),
    ],
)
def test_labels_that_do_not_fit_are_explained(
    name: str, labels: list[float], usage: list[int], message: str
) -> None:
    solution = solution_with(labels, usage, "probability")
    with pytest.raises(ParameterError) as caught:
        get(name).check(solution.schema, solution, get(name).parse({}))
    assert caught.value.message.startswith(message)


def test_labels_of_ignored_rows_do_not_matter() -> None:
    solution = solution_with([0, 1, math.nan], [1, 1, 3], "probability")
    for name in ("roc_auc", "brier", "log_loss"):
        get(name).check(solution.schema, solution, get(name).parse({}))


def test_ignored_rows_are_never_measured() -> None:
    predictions, solution = files(get("mse"), (np.zeros(2), np.zeros(2)))
    ignored = replace(solution, usage=np.array([Usage.PRIVATE, Usage.IGNORED], np.int8))
    with pytest.raises(StateError, match="Ignored rows"):
        get("mse").measure(predictions, ignored, np.ones(2, np.bool_), get("mse").parse({}))


def test_predictions_of_other_rows_are_never_measured() -> None:
    predictions, _ = files(get("mse"), (np.zeros(2), np.zeros(2)))
    _, solution = files(get("mse"), (np.zeros(3), np.zeros(3)))
    with pytest.raises(StateError, match="different row ids"):
        get("mse").measure(predictions, solution, np.ones(3, np.bool_), get("mse").parse({}))


def test_an_unknown_metric_is_named_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="no metric called 'acuracy'; choose from accuracy"):
        get("acuracy")


@pytest.mark.parametrize(
    ("name", "raw", "field"),
    [
        ("rmse", {"clip": "0"}, "clip"),
        ("rmse", {"clip": "ten"}, "clip"),
        ("log_loss", {"clip": "0.5"}, "clip"),
        ("accuracy", {"clip": "1"}, "clip"),
    ],
)
def test_parameters_are_checked(name: str, raw: dict[str, str], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        get(name).parse(raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("brier", "c,0.5\nb,0\na,1\n", "Brier score, line 2, column `y`: labels are 0 or 1; 0.5 "),
        ("mape", "b,1\n\na,0\nc,2\n", "Mean absolute percentage error, line 4, column `y`: a lab"),
    ],
)
def test_a_label_that_does_not_fit_is_named_with_its_line(
    name: str, rows: str, message: str
) -> None:
    schema = value("y")
    solution = read_solution(f"id,y\n{rows}".encode(), schema, RowIds(["a", "b", "c"]))
    metric = replace(get(name), takes=("number",))
    with pytest.raises(ParameterError) as caught:
        metric.check(schema, solution, metric.parse({}))
    assert caught.value.message.startswith(message)
