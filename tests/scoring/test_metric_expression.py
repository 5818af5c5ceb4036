"""The metric "expression": a mean of [0, 1] whatever the formula, the labels, the predictions."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring.errors import ParameterError
from scoring.mechanisms import MECHANISMS
from scoring.metrics import get
from scoring.predictions import Column, Predictions, RowIds, Schema, Solution, Usage
from tests.scoring.formulas import formulas, reference
from tests.scoring.samples import EXTREME

METRIC = get("expression")
ONE = Schema("id", (Column("y", "number"),))
TWO = Schema("id", (Column("in", "number"), Column("out cm", "number")))
LOG_ERROR = "abs(log1p(prediction) - log1p(label))"


def solution(schema: Schema, *labels: list[float], weights: list[float] | None = None) -> Solution:
    rows = len(labels[0])
    names = [column.name for column in schema.columns]
    columns = {name: np.array(each) for name, each in zip(names, labels, strict=True)}
    ids = RowIds([str(row) for row in range(rows)])
    weight = None if weights is None else np.array(weights)
    usage = np.full(rows, Usage.PRIVATE, np.int8)
    return Solution(schema, columns, usage, ids.digest, weights=weight, row_ids=ids)


def score(
    parameters: dict[str, str], truth: Solution, *predicted: list[float], schema: Schema = ONE
) -> float:
    names = [column.name for column in schema.columns]
    columns = {name: np.array(each) for name, each in zip(names, predicted, strict=True)}
    assert truth.row_ids is not None
    params = METRIC.parse(parameters)
    METRIC.check(schema, truth, params)
    everything = np.ones(len(predicted[0]), np.bool_)
    mean = METRIC.measure(Predictions(schema, columns, truth.row_ids), truth, everything, params)
    return METRIC.score(mean.units / mean.whole, params)


def refusal(loss: str, schema: Schema | None = None, **others: str) -> str:
    def read() -> None:
        params = METRIC.parse({"loss": loss, **others})
        if schema is not None:
            METRIC.check(schema, None, params)

    with pytest.raises(ParameterError) as caught:
        read()
    return str(caught.value)


@given(formula=formulas(), rows=st.integers(1, 8), data=st.data())
def test_any_formula_is_total_in_range_and_equals_the_slow_reference(
    formula: Any, rows: int, data: st.DataObject
) -> None:
    text = f"{formula.text} + 0 * prediction + 0 * label"
    assume(len(text) <= 500)
    numbers = EXTREME | st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0])
    predicted, actual = (data.draw(arrays(np.float64, rows, elements=numbers)) for _ in range(2))
    params = METRIC.parse({"loss": text, "low": "-2", "high": "3"})
    losses = METRIC.losses(ONE, [predicted], [actual], params)
    assert losses.shape == (rows,)
    assert ((losses >= 0) & (losses <= 1)).all()
    for loss, p, y in zip(losses, predicted, actual, strict=True):
        value = reference(formula, {"prediction": float(p), "label": float(y), "weight": 1.0})
        value += 0 * float(p) + 0 * float(y)
        if math.isnan(value) or value < -2.001 or value > 3.001:
            assert loss == 1
        elif -1.999 < value < 2.999:
            assert loss == pytest.approx((value + 2) / 5, rel=1e-9, abs=1e-9)


def test_a_loss_is_the_mean_of_the_formula() -> None:
    truth = solution(ONE, [0.0, 1.0, 3.0])
    found = score({"loss": LOG_ERROR, "high": "3"}, truth, [0.0, 3.0, 0.0])
    assert found == pytest.approx((math.log(2) + math.log(4)) / 3, abs=1e-5)


@pytest.mark.parametrize("predicted", [-5.0, 1e308, -1.0])
def test_a_row_without_a_finite_loss_in_range_counts_as_the_worst(predicted: float) -> None:
    truth = solution(ONE, [0.0, 0.0])
    assert score({"loss": LOG_ERROR, "high": "3"}, truth, [0.0, predicted]) == pytest.approx(1.5)


def test_a_loss_below_the_range_counts_as_the_worst_too() -> None:
    truth = solution(ONE, [0.0])
    assert score({"loss": "prediction - label"}, truth, [-0.5]) == 1


def test_an_end_of_the_range_may_be_missed_by_the_last_digits() -> None:
    truth = solution(ONE, [0.3])
    assert score({"loss": "prediction - label"}, truth, [0.1 + 0.2 - 1e-16]) == pytest.approx(0)


def test_several_columns_are_named_by_their_letters_digits_and_underscores() -> None:
    truth = solution(TWO, [0.0], [0.5])
    loss = "abs(prediction_in - label_in) + 2 * abs(prediction_out_cm - label_out_cm)"
    found = score({"loss": loss, "high": "3"}, truth, [0.25], [1.0], schema=TWO)
    assert found == pytest.approx(1.25, abs=1e-5)


def test_labels_are_their_places_in_the_list_of_classes() -> None:
    schema = Schema("id", (Column("y", "label", ("low", "middle", "high")),))
    truth = solution(schema, [0, 1, 2])
    loss = {"loss": "(prediction - label) ** 2", "high": "4"}
    found = score(loss, truth, [2, 1, 1], schema=schema)
    assert found == pytest.approx(5 / 3, abs=1e-5)


def test_the_weight_of_a_row_can_stand_in_the_formula_and_counts_in_the_mean() -> None:
    truth = solution(ONE, [0.0, 0.0], weights=[1.0, 3.0])
    loss = "where(weight > 2, 0.5, 1) * abs(prediction - label)"
    assert score({"loss": loss}, truth, [1.0, 1.0]) == pytest.approx((1 + 3 * 0.5) / 4)


def test_a_formula_of_weights_needs_a_solution_with_weights() -> None:
    with pytest.raises(ParameterError, match="Character 1: “weight”, but the solution has no"):
        score({"loss": "weight * abs(prediction - label)"}, solution(ONE, [0.0]), [0.0])


def test_every_mechanism_may_show_it() -> None:
    assert METRIC.allows(*MECHANISMS.values()) is None
    assert METRIC.direction == "minimize"


@pytest.mark.parametrize(
    ("loss", "place", "expected"),
    [
        ("prediction - lable", 14, "prediction, label, weight or a function"),
        ("price - label", 1, "prediction, label, weight or a function"),
    ],
)
def test_names_that_no_formula_has_are_refused(loss: str, place: int, expected: str) -> None:
    assert refusal(loss).startswith(f"loss: Character {place}: Expected {expected}")


def test_names_that_are_no_columns_are_refused_with_those_that_are() -> None:
    assert refusal("prediction_in - label", TWO) == (
        "loss: Character 17: Expected one of prediction_in, label_in, prediction_out_cm, "
        "label_out_cm, weight, not “label”."
    )


def test_columns_that_a_formula_could_not_tell_apart_are_refused() -> None:
    alike = Schema("id", (Column("a b", "number"), Column("a-b", "number")))
    assert "same name" in refusal("prediction_a_b - label_a_b", alike)


@pytest.mark.parametrize("part", ["prediction", "label"])
def test_a_formula_uses_prediction_and_label(part: str) -> None:
    assert "Expected a formula that uses" in refusal(f"abs({part})")


def test_a_range_goes_up() -> None:
    assert refusal("prediction - label", low="1", high="1").startswith("high: Give more than")


@given(text=st.text(max_size=60))
def test_any_text_is_a_formula_or_a_parameter_error(text: str) -> None:
    fields = set()
    try:
        METRIC.parse({"loss": text})
    except ParameterError as error:
        fields.add(error.field)
    assert fields <= {"loss"}


def test_the_formula_and_its_range_are_told() -> None:
    params = METRIC.parse({"loss": LOG_ERROR, "high": "3"})
    assert "From 0 to 3; lower is better." in METRIC.facts(params)
