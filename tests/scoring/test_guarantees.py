"""Served guarantees against slow independent references and inverse laws.

Their published vectors are checked in tests/research/test_bounds.py, beside those of the others.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.errors import ConditionError
from scoring.guarantees import intervals, ledger, noise_tails, sensitivity

CONDITIONS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (intervals.bonferroni_width, (0, 1, 0.05)),
    (intervals.bonferroni_width, (10, 1, 0.0)),
    (sensitivity.auc_sensitivity, (0, 5)),
    (intervals.wilson_interval, (1.2, 10, 0.05)),
    (intervals.kl_interval, (10, 0.5, -1.0, 0.05)),
    (intervals.kl_cell_interval, (10, 0.6, 0.5, 1.0)),
    (ledger.ln_beta_of_question, (5, 5, 0.0, -3.0)),
    (ledger.ln_beta_of_question, (5, 2, -1.0, -3.0)),
    (ledger.ln_anytime_share, (0,)),
    (ledger.ledger_width, (0, 1, 0, 0.0, -3.0)),
    (noise_tails.ln_discrete_laplace_upper_tail, (2.0, 0)),
]


@pytest.mark.parametrize(("function", "arguments"), CONDITIONS)
def test_a_guarantee_is_refused_where_its_condition_fails(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(ConditionError):
        function(*arguments)


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0, 100))
def test_kl_interval_ends_where_the_divergence_reaches_the_budget(
    rows: int, mean: float, ln_budget: float
) -> None:
    low, high = intervals.kl_cell_interval(rows, mean, mean, ln_budget)
    assert 0 <= low <= mean <= high <= 1
    for end in {low, high} - {0.0, 1.0}:
        assert rows * intervals.kl_divergence(mean, end) >= ln_budget * (1 - 1e-9) - 1e-9


@given(st.integers(1, 10**5), st.floats(0, 1), st.floats(0, 50))
def test_kl_interval_is_never_wider_than_hoeffdings(
    rows: int, mean: float, ln_budget: float
) -> None:
    low, high = intervals.kl_cell_interval(rows, mean, mean, ln_budget)
    width = math.sqrt(ln_budget / (2 * rows)) + 1e-7
    assert mean - low <= width
    assert high - mean <= width


def test_kl_interval_of_a_perfect_score_has_the_closed_form() -> None:
    low, high = intervals.kl_cell_interval(100, 0.0, 0.0, 3.0)
    assert low == 0
    assert high == pytest.approx(1 - math.exp(-0.03))


def test_kl_interval_of_a_cell_covers_that_of_each_mean_in_it() -> None:
    low, high = intervals.kl_cell_interval(1000, 0.18, 0.22, 5.0)
    for mean in (0.18, 0.2, 0.22):
        inner_low, inner_high = intervals.kl_cell_interval(1000, mean, mean, 5.0)
        assert low <= inner_low
        assert inner_high <= high


@pytest.mark.parametrize(("mean", "rows"), [(0.0, 10), (0.3, 10), (0.5, 1000), (1.0, 7)])
def test_wilson_interval_agrees_with_scipy(mean: float, rows: int) -> None:
    expected = stats.binomtest(round(mean * rows), rows).proportion_ci(0.95, "wilson")
    assert intervals.wilson_interval(mean, rows, 0.05) == pytest.approx(tuple(expected), abs=1e-12)


@given(st.floats(0.01, 1e6), st.floats(-60, -0.7))
def test_discrete_laplace_quantiles_are_the_smallest_safe_ones(
    scale: float, ln_beta: float
) -> None:
    z = noise_tails.discrete_laplace_upper_quantile(scale, ln_beta)
    tail = noise_tails.ln_discrete_laplace_upper_tail
    assert tail(scale, z + 1) <= ln_beta
    assert z <= 1 or tail(scale, z - 1) > ln_beta


def test_anytime_shares_add_up_to_one() -> None:
    total = math.fsum(math.exp(ledger.ln_anytime_share(i)) for i in range(1, 100_000))
    assert 0.9999 < total < 1


def test_ledger_spends_at_most_beta_over_every_tree_of_histories() -> None:
    """All histories of at most 8 questions with 3 possible values at each answer."""
    spent = 0.0
    for asked in range(1, 9):
        for answered in range(asked):
            histories = math.comb(asked - 1, answered) * 3**answered
            ln_share = ledger.ln_beta_of_question(
                asked, answered, answered * math.log(3), math.log(0.05)
            )
            spent += histories * math.exp(ln_share)
    assert 0.01 < spent <= 0.05


@given(st.integers(2, 5000), st.data())
def test_ledger_width_grows_with_every_answer(asked: int, data: st.DataObject) -> None:
    answered = data.draw(st.integers(0, (asked - 2) // 2))
    before = ledger.ledger_width(1000, asked, answered, 2.0 * answered, -3.0)
    after = ledger.ledger_width(1000, asked + 1, answered + 1, 2.0 * answered + 2.0, -3.0)
    assert after > before


def test_auc_sensitivity_covers_a_moved_row_in_either_direction() -> None:
    assert sensitivity.auc_sensitivity(700, 300) == sensitivity.auc_sensitivity(300, 700)
