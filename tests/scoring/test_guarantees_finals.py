"""Intervals of final scores: against hand computations, and true for all finalists at once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError
from scoring.guarantees.finals import counted_interval, untouched_interval
from scoring.guarantees.intervals import bonferroni_width, kl_divergence
from scoring.guarantees.ledger import ledger_width

BETA = 0.5  # the largest that may be asked for: the narrowest intervals


def test_the_ends_on_untouched_rows_use_up_the_share_of_one_finalist() -> None:
    low, high = untouched_interval(0.1, 1000, 20, 0.05)
    budget = math.log(2 * 20 / 0.05)  # 6.6846
    assert 1000 * kl_divergence(0.1, low) == pytest.approx(budget)
    assert 1000 * kl_divergence(0.1, high) == pytest.approx(budget)


def test_no_errors_of_one_finalist_are_the_rule_of_three() -> None:
    """-ln(1 - q) n = ln(2 / beta): q = 1 - (beta / 2)^(1 / n), as of Clopper and Pearson."""
    low, high = untouched_interval(0.0, 100, 1, 0.05)
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))


def test_the_ends_on_the_boards_rows_use_up_what_the_ledger_set_aside() -> None:
    width = ledger_width(2000, 17, 4, 4 * math.log(51), math.log(0.05))
    low, high = counted_interval(0.25, 2000, width)
    assert kl_divergence(0.25, low) == pytest.approx(2 * width**2)
    assert kl_divergence(0.25, high) == pytest.approx(2 * width**2)


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**4), st.floats(0.001, 0.5))
def test_no_interval_is_wider_than_its_plain_one(
    mean: float, rows: int, finalists: int, beta: float
) -> None:
    width = bonferroni_width(rows, finalists, beta)
    for low, high in (
        untouched_interval(mean, rows, finalists, beta),
        counted_interval(mean, rows, width),
    ):
        assert max(0.0, mean - width) - 1e-7 <= low <= mean
        assert mean <= high <= min(1.0, mean + width) + 1e-7


def test_a_question_asked_first_costs_the_ledger_more_than_one_finalist() -> None:
    """Not to know how many questions will come has a price: 1 is not alone with beta."""
    first = ledger_width(1000, 1, 0, 0.0, math.log(0.05))
    assert counted_interval(0.2, 1000, first)[0] < untouched_interval(0.2, 1000, 1, 0.05)[0]


@pytest.mark.parametrize("rows", [0, -5])
def test_rows_are_needed(rows: int) -> None:
    with pytest.raises(ConditionError):
        untouched_interval(0.5, rows, 3, 0.05)
    with pytest.raises(ConditionError):
        counted_interval(0.5, rows, 0.1)


def test_all_intervals_on_untouched_rows_are_true_together_often_enough() -> None:
    """30 correlated finalists on 400 rows: a wrong one in at most beta of 400 competitions."""
    generator = np.random.default_rng(5)
    truth = np.linspace(0.02, 0.5, 30)
    failures = 0
    for _ in range(400):
        means = (generator.random((400, 1)) < truth).mean(axis=0)  # one coin for all: correlated
        intervals = [untouched_interval(float(mean), 400, 30, BETA) for mean in means]
        failures += any(not a <= p <= b for (a, b), p in zip(intervals, truth, strict=True))
    assert failures <= BETA * 400


def test_all_intervals_on_the_boards_rows_are_true_together_after_an_attack() -> None:
    """The attacker sees a Ladder's steps, keeps what improved, turns round what didn't, and enters
    all guesses and their majority; labels are coins, so the truth is 1/2 for every one of them."""
    generator = np.random.default_rng(6)
    failures = sum(_attack(generator, rows=300, questions=60) for _ in range(100))
    assert failures <= BETA * 100


def _attack(generator: np.random.Generator, rows: int, questions: int) -> bool:
    """Whether any exact final score lies where its interval doesn't hold 1/2."""
    labels = generator.integers(0, 2, rows)
    answered, log_alphabets, best, kept = 0, 0.0, 20, list[np.ndarray]()
    wrong = False
    for asked in range(1, questions + 1):
        guess = generator.integers(0, 2, rows)
        if asked == questions:
            guess = (np.sum(kept, axis=0) * 2 > len(kept)).astype(int)
        width = ledger_width(rows, asked, answered, log_alphabets, math.log(BETA))
        loss = float(np.mean(guess != labels))
        low, high = counted_interval(loss, rows, width)
        wrong = wrong or not low <= 0.5 <= high
        level = round(loss * 20)
        kept.append(guess if level < best else 1 - guess)
        if level < best:
            answered, log_alphabets, best = answered + 1, log_alphabets + math.log(best), level
    return wrong
