"""A measurement is exact, and does not leave the process by accident."""

import copy
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import StateError
from scoring.measurement import Mean, Measurement, Paired, effective_rows, total

SECRET = Measurement(Mean(12345, 20000, 1), Mean(678, 1000, 1), Paired(12345, 23456))


@pytest.mark.parametrize("show", [repr, str, format, "{}".format, "%s".__mod__])
@pytest.mark.parametrize("secret", [SECRET, SECRET.holdout, SECRET.paired])
def test_a_measurement_is_never_shown(show: Callable[[Any], str], secret: object) -> None:
    assert not any(digit in show(secret) for digit in "0123456789")


@pytest.mark.parametrize("send", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps])
@pytest.mark.parametrize("secret", [SECRET, SECRET.holdout, SECRET.paired])
def test_a_measurement_is_never_sent(send: Callable[[Any], Any], secret: object) -> None:
    with pytest.raises(TypeError) as caught:
        send(secret)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("units", "rows", "resolution"),
    [(-1, 10, 1), (11, 10, 1), (0, 0, 1), (0, 1, 0), (1.0, 10, 1), (np.int64(1), 10, 1)],
)
def test_an_impossible_mean_is_refused_without_its_numbers(
    units: Any, rows: int, resolution: int
) -> None:
    with pytest.raises(StateError) as caught:
        Mean(units, rows, resolution)
    assert "1" not in str(caught.value).replace("0 and 1", "")


@given(st.integers(1, 500), st.integers(1, 1000), st.integers(1, 200), st.data())
def test_a_level_is_the_nearest_on_the_grid(
    rows: int, resolution: int, steps: int, data: st.DataObject
) -> None:
    units = data.draw(st.integers(0, rows * resolution))
    level = Mean(units, rows, resolution).level(steps)
    assert 0 <= level <= steps
    assert abs(level - Fraction(units * steps, rows * resolution)) <= Fraction(1, 2)


def test_a_tie_goes_to_the_larger_loss() -> None:
    assert Mean(1, 4, 1).level(2) == 1


@pytest.mark.parametrize("loss", [0.25, Fraction(1, 4), 0.2500001])
def test_a_claimed_loss_takes_the_units_of_the_holdout_and_nothing_else(
    loss: Fraction | float,
) -> None:
    for units in (0, 17, 100):
        assert Mean(units, 10, 10).claimed(loss) == Mean(25, 10, 10)


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_claim_outside_of_losses_is_refused(loss: float) -> None:
    with pytest.raises(StateError):
        Mean(5, 10, 1).claimed(loss)


@pytest.mark.parametrize(("gain", "squares"), [(2, 1), (-2, 1), (0, -1), (1.0, 1)])
def test_an_impossible_comparison_is_refused(gain: Any, squares: int) -> None:
    with pytest.raises(StateError):
        Paired(gain, squares)


WEIGHTS = st.lists(st.floats(0, 1e300), min_size=1, max_size=30)


@given(WEIGHTS, st.randoms(use_true_random=False))
def test_a_total_is_the_same_in_every_order(values: list[float], order: object) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert total(np.array(shuffled)) == total(np.array(values))


@given(WEIGHTS)
def test_a_total_is_right_to_the_last_bit_of_the_largest(values: list[float]) -> None:
    off = abs(total(np.array(values)) - sum(map(Fraction, values)))
    assert off <= len(values) * Fraction(max(values)) / 2**53


@given(st.integers(1, 5000), st.sampled_from([0.1, 1.0, 1e-310, 7e12]))
def test_equal_weights_count_as_their_rows(rows: int, weight: float) -> None:
    assert effective_rows(np.full(rows, weight)) == rows
