"""A measurement is exact, and does not leave the process by accident."""

import copy
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoring.errors import StateError
from scoring.measurement import Mean, Measurement, effective_rows, weighted_mean

SECRET = Measurement(Mean(12345, 20000, 1), Mean(678, 1000, 1))


@pytest.mark.parametrize("show", [repr, str, format, "{}".format, "%s".__mod__])
@pytest.mark.parametrize("secret", [SECRET, SECRET.holdout])
def test_a_measurement_is_never_shown(show: Callable[[Any], str], secret: object) -> None:
    assert not any(digit in show(secret) for digit in "0123456789")


@pytest.mark.parametrize("send", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps])
@pytest.mark.parametrize("secret", [SECRET, SECRET.holdout])
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


FRACTION = st.floats(0, 1)
WEIGHED = st.lists(st.tuples(FRACTION, st.floats(0, 1e308)), min_size=1, max_size=30).filter(
    lambda rows: any(weight for _, weight in rows)
)
Weighed = list[tuple[float, float]]


def mean_of(rows: Weighed) -> Fraction:
    losses, weights = np.array(rows).T
    return weighted_mean(losses, weights)


@given(WEIGHED, st.randoms(use_true_random=False))
def test_a_weighted_mean_is_the_same_in_every_order(rows: Weighed, order: Any) -> None:
    shuffled = order.sample(rows, len(rows))
    assert mean_of(shuffled) == mean_of(rows)


@given(WEIGHED)
@example([(0.3, 5e-324), (0.3, 5e-324)])
@example([(0.7, 1e308), (0.2, 1e308), (1.0, 5e-324)])
def test_a_weighted_mean_is_right_to_the_last_bits_of_the_largest_weight(rows: Weighed) -> None:
    fractions = [(Fraction(loss), Fraction(weight)) for loss, weight in rows]
    whole = sum((weight for _, weight in fractions), Fraction(0))
    exact = sum((loss * weight for loss, weight in fractions), Fraction(0)) / whole
    largest = max(weight for _, weight in fractions)
    assert abs(mean_of(rows) - exact) <= len(rows) * largest / whole / 2**51


@given(WEIGHED, st.integers(0, 29), FRACTION)
@example([(0.1, 1.0), *[(0.2, 1 / 3)] * 3], 0, 1.0)
def test_one_row_moves_a_weighted_mean_by_one_effective_row_at_most(
    rows: Weighed, place: int, loss: float
) -> None:
    row = place % len(rows)
    changed = [*rows[:row], (loss, rows[row][1]), *rows[row + 1 :]]
    effective = effective_rows(np.array(rows)[:, 1])
    assert abs(mean_of(rows) - mean_of(changed)) <= Fraction(1, effective)


@given(st.integers(1, 5000), st.sampled_from([0.1, 1.0, 1e-310, 7e12]))
def test_equal_weights_count_as_their_rows(rows: int, weight: float) -> None:
    assert effective_rows(np.full(rows, weight)) == rows


@given(WEIGHED, st.lists(st.integers(0, 4), min_size=30, max_size=30), FRACTION)
@example([(0.1, 0.0), *[(0.2, 1e308)] * 2], [0, 1, 1] * 10, 1.0)
def test_one_group_moves_a_weighted_mean_by_one_effective_row_at_most(
    rows: Weighed, labels: list[int], loss: float
) -> None:
    groups = np.array(labels[: len(rows)])
    changed = [
        (loss if group == groups[0] else kept, weight)
        for group, (kept, weight) in zip(groups, rows, strict=True)
    ]
    effective = effective_rows(np.array(rows)[:, 1], groups)
    assert abs(mean_of(rows) - mean_of(changed)) <= Fraction(1, effective)


def test_equal_groups_count_as_so_many_rows() -> None:
    assert effective_rows(np.full(12, 0.1), np.arange(12) % 4) == 4
    assert effective_rows(np.ones(12), np.zeros(12, np.int64)) == 1
