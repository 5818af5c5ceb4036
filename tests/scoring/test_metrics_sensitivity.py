"""Declared sensitivities against every change of one label on small sets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.metrics import METRICS, Metric, get
from scoring.metrics.base import Sensitivity
from tests.scoring.samples import CLASSES, pairs

Values = NDArray[Any]

FEW = st.integers(0, 6).map(float)
SET_FUNCTIONS = [metric for metric in METRICS.values() if metric.sensitivity is not None]
EVERY_SET_FUNCTION = pytest.mark.parametrize("metric", SET_FUNCTIONS, ids=lambda m: m.name)


def known(metric: Metric) -> Sensitivity:
    assert metric.sensitivity is not None
    return metric.sensitivity


def neighbours(metric: Metric, actual: Values) -> Iterator[Values]:
    """Labels that differ from `actual` in one cell of one row."""
    choices = {"label": range(len(CLASSES)), "probability": (0.0, 1.0)}
    several = 2 if metric.column_rule is not None else len(CLASSES)
    for place in np.ndindex(actual.shape):
        for label in list(choices.get(metric.takes[0], (-1.0, 0.5, 2.5, 9.0)))[:several]:
            other = actual.copy()
            other[place] = label
            yield other


def move(metric: Metric, predicted: Values, one: Values, other: Values) -> float:
    params = metric.parse({})
    losses = [metric.loss(metric.evaluate(predicted, a, params), params) for a in (one, other)]
    return abs(losses[0] - losses[1])


def small(metric: Metric) -> st.SearchStrategy[tuple[Values, Values]]:
    """A few rows that often keep the condition of a bound."""
    if metric.takes[0] == "number" and metric.columns == "one":
        return st.integers(2, 7).flatmap(lambda rows: st.tuples(orders(rows), orders(rows)))
    classes = st.integers(2, 3) if metric.column_rule is None else st.just(2)
    if metric.takes[0] == "label":
        return st.tuples(pairs(metric, FEW, most=9), classes).map(
            lambda drawn: (drawn[0][0] % drawn[1], drawn[0][1] % drawn[1])
        )
    return pairs(metric, FEW, most=9)


def orders(rows: int) -> st.SearchStrategy[Values]:
    return st.permutations(range(rows)).map(lambda order: np.array(order, np.float64))


@EVERY_SET_FUNCTION
@settings(
    max_examples=settings().max_examples // 10,
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_one_label_moves_a_loss_by_the_bound_at_most(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(small(metric))
    sensitivity = known(metric)
    assume(sensitivity.holds(predicted, actual, actual))
    bound = sensitivity.bound(predicted, actual)
    for other in neighbours(metric, actual):
        if sensitivity.holds(predicted, actual, other):
            assert move(metric, predicted, actual, other) <= bound + 1e-12


ALWAYS = [metric for metric in SET_FUNCTIONS if known(metric).always is not None]


@pytest.mark.parametrize("metric", ALWAYS, ids=lambda metric: metric.name)
@given(data=st.data())
def test_a_bound_for_all_data_falls_with_the_rows(metric: Metric, data: st.DataObject) -> None:
    predicted, actual = data.draw(small(metric))
    always = known(metric).always or 0
    assert known(metric).bound(predicted, actual) == always / len(actual)
    assert known(metric).holds(predicted, actual, actual)


@pytest.mark.parametrize(
    ("name", "predicted", "one", "other"),
    [
        ("precision", [1, 1, 0], [1, 0, 0], [1, 1, 0]),
        ("recall", [1, 0, 0], [1, 0, 0], [0, 0, 0]),
        ("f1", [1, 0, 0], [0, 0, 0], [1, 0, 0]),
        ("jaccard", [1, 1, 0], [1, 0, 0], [1, 1, 0]),
    ],
)
def test_bounds_of_one_class_are_reached(
    name: str, predicted: list[int], one: list[int], other: list[int]
) -> None:
    metric = get(name)
    arrays = [np.array(each, np.int32) for each in (predicted, one, other)]
    reached = move(metric, *arrays)
    assert reached >= known(metric).bound(arrays[0], arrays[1]) / 2 > 0


def test_one_row_can_move_a_metric_of_any_kind_by_much() -> None:
    predicted = np.array([0] * 99 + [1], np.int32)
    for name in ("mcc", "kappa"):
        one, other = (np.array([0] * 99 + [last], np.int32) for last in (0, 1))
        assert move(get(name), predicted, one, other) == 0.5
