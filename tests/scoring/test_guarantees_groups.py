"""Rows in groups: effective rows against vectors, and bounds that hold where rows depend."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError
from scoring.guarantees.groups import (
    choose_design,
    kish,
    max_weight,
    scatter_rows,
    sum_weights,
)
from scoring.guarantees.intervals import kl_cell_interval, kl_divergence
from scoring.predictions import Usage
from scoring.predictions.solution import find_split_group
from scoring.split import Shares, split_groups, split_rows

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())["section10"]
FUNCTIONS = {"kish": kish, "max_weight": max_weight}
BUDGET = math.log(2 / 0.05)
HALVES = Shares(Fraction(1, 2), Fraction(1, 2), Fraction(0))
weights_of_groups = st.lists(st.integers(1, 50), min_size=1, max_size=40).map(np.array)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors(name: str) -> None:
    for vector in VECTORS[name]:
        found = FUNCTIONS[name](np.array(vector["args"]["weights"]))
        assert found == pytest.approx(vector["value"], rel=1e-9)


def test_the_weight_of_a_group_is_that_of_its_rows() -> None:
    groups = np.array([5, 2, 5, 5])
    assert sum_weights(groups).tolist() == [1, 3]
    assert sum_weights(groups, np.array([0.5, 2.0, 0.25, 0.0])).tolist() == [2.0, 0.75]


@given(weights_of_groups)
def test_effective_rows_lie_between_one_and_the_groups(weights: Any) -> None:
    assert 1 <= max_weight(weights) <= kish(weights) * (1 + 1e-12) <= len(weights) * (1 + 1e-12)
    assert kish(weights) == pytest.approx(kish(weights * 3e-200), rel=1e-9)


def test_equal_groups_count_as_one_row_each() -> None:
    for size in (1, 7):
        weights = np.full(50, size)
        assert kish(weights) == max_weight(weights) == 50
        assert choose_design(weights, 0.3, BUDGET).bound == "kl"
    assert kish(np.array([40, 5, 5])) < 2


def test_unequal_groups_take_hoeffding_but_for_low_losses() -> None:
    weights = np.array([8] + [5] * 194)
    assert choose_design(weights, 0.3, BUDGET).bound == "hoeffding"
    assert choose_design(weights, 0.001, BUDGET).bound == "kl"


@given(weights_of_groups, st.floats(0, 1), st.floats(0.1, 30))
def test_the_chosen_interval_is_the_narrower_one(weights: Any, loss: float, budget: float) -> None:
    design = choose_design(weights, loss, budget)
    low, high = design.interval(loss, loss, budget)
    width = math.sqrt(budget / (2 * kish(weights)))
    by_kl = kl_cell_interval(max_weight(weights), loss, loss, budget)
    by_hoeffding = min(1.0, loss + width) - max(0.0, loss - width)
    narrower = min(by_kl[1] - by_kl[0], by_hoeffding)
    # Of rows that are rounded down to a millionth.
    assert narrower * (1 - 1e-9) <= high - low <= narrower + 1e-5


@given(weights_of_groups)
def test_published_numbers_are_rounded_to_the_safe_side(weights: Any) -> None:
    design = choose_design(weights, 0.2, BUDGET)
    assert design.sampling_rows <= kish(weights) <= design.sampling_rows + 2e-6
    assert 1 / max_weight(weights) <= design.largest_share * (1 + 1e-12)
    assert design.bound_rows in {design.sampling_rows, math.floor(max_weight(weights) * 1e6) / 1e6}


def test_intervals_use_up_their_budget_at_rows_that_are_no_whole_number() -> None:
    vector = VECTORS["kl_ends"][1]
    args = vector["args"]
    ends = kl_cell_interval(args["n"], args["low"], args["high"], args["L"])
    assert ends == pytest.approx(vector["value"], abs=1e-9)
    assert args["n"] * kl_divergence(args["high"], ends[1]) == pytest.approx(args["L"])


@pytest.mark.parametrize("loss", [0.02, 0.3])
def test_intervals_hold_where_the_rows_of_a_group_are_alike(loss: float) -> None:
    """The worst case: a group is one coin. Counting rows fails nearly always."""
    generator = np.random.default_rng(4)
    sizes = np.maximum(1, generator.geometric(0.02, 60))
    design = choose_design(sizes, loss, BUDGET)
    means = (generator.random((2000, 60)) < loss) @ sizes / sizes.sum()

    def misses(interval: Any) -> float:
        return float(np.mean([not a <= loss <= b for a, b in map(interval, means)]))

    assert misses(lambda mean: design.interval(mean, mean, BUDGET)) <= 0.05
    assert misses(lambda mean: kl_cell_interval(int(sizes.sum()), mean, mean, BUDGET)) > 0.5


@pytest.mark.parametrize("weights", [[], [3, -1], [0, 0]])
def test_weights_that_cannot_be_are_refused(weights: list[int]) -> None:
    for function in FUNCTIONS.values():
        with pytest.raises(ConditionError):
            function(np.array(weights))


def test_an_interval_of_a_cell_has_its_low_end_first() -> None:
    design = choose_design(np.array([8] + [5] * 194), 0.3, BUDGET)
    assert design.bound == "hoeffding"
    with pytest.raises(ConditionError):
        design.interval(0.3, 0.2, BUDGET)


def test_groups_count_by_their_scatter_where_it_is_less_than_the_worst() -> None:
    generator = np.random.default_rng(2)
    sizes = generator.integers(50, 150, 4000)
    alike = (generator.random(4000) < 0.3).astype(float)
    assert scatter_rows(alike, sizes) == pytest.approx(kish(sizes), rel=0.1)
    alone = generator.binomial(sizes, 0.3) / sizes
    assert scatter_rows(alone, sizes) == pytest.approx(sizes.sum(), rel=0.1)


def test_groups_without_scatter_count_as_in_the_worst_case() -> None:
    assert scatter_rows(np.full(5, 0.25), np.ones(5)) == 5
    with pytest.raises(ConditionError):
        scatter_rows(np.array([0.5]), np.ones(1))


@pytest.mark.parametrize("torn", [False, True])
def test_a_promise_holds_as_long_as_no_group_is_split(torn: bool) -> None:
    """A team repeats the Public label of each group: a coin for new groups, and right on torn ones.

    So no file with a group in two sets may become a solution (`read_solution`).
    """
    generator, missed = np.random.default_rng(3), 0
    groups = np.repeat(np.arange(60), 10)
    usage = split_rows(600, HALVES, b"s") if torn else split_groups(groups, HALVES, b"s")
    private = usage == Usage.PRIVATE
    for _ in range(200):
        labels = generator.integers(0, 2, 60)
        known = np.isin(np.arange(60), groups[usage == Usage.PUBLIC])
        guesses = np.where(known, labels, generator.integers(0, 2, 60))
        loss = float(np.mean(labels[groups[private]] != guesses[groups[private]]))
        design = choose_design(sum_weights(groups[private]), 0.25, BUDGET)
        low, high = design.interval(loss, loss, BUDGET)
        missed += not low <= 0.5 <= high
    assert (missed == 200) if torn else (missed <= 10)
    assert (find_split_group(groups, usage, np.arange(600)) is not None) == torn
