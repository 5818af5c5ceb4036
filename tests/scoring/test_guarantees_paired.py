"""Paired tests: against vectors and slow exact references, and valid where rows are not alike."""

import itertools
import json
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError
from scoring.guarantees import paired
from scoring.guarantees.paired import (
    LEAST,
    betting_p_values,
    binomial_p_values,
    duel_threshold,
    p_betting,
    p_binomial,
)

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())["section10"]
DIGITS = 1e-8


def vectors(*names: str) -> Iterable[Any]:
    return [pytest.param(name, each["args"], each["value"], id=f"{name} {place}")
            for name in names for place, each in enumerate(VECTORS[name])]  # fmt: skip


def binomial(differ: int, right: int) -> Fraction:
    """The tail, exactly."""
    if 2 * right < differ + 2:
        return Fraction(1)
    return Fraction(sum(math.comb(differ, k) for k in range(right, differ + 1)), 2**differ)


def betting(differences: Iterable[float], scale: float = 1) -> Fraction:
    """One over the mean, exactly, of bets in doubles."""
    bets = [Fraction((0.9, 0.9 / math.sqrt(2))[j % 2]) / 2 ** (j // 2) for j in range(16)]
    shares = [Fraction(each) / Fraction(scale) for each in differences]
    wealths = [math.prod((1 + bet * d for d in shares), start=Fraction(1)) for bet in bets]
    mean = sum(wealths, start=Fraction(0)) / 16
    return min(Fraction(1), 1 / mean)


@pytest.mark.parametrize(("name", "args", "value"), vectors("p_binomial"))
def test_binomial_vectors(name: str, args: dict[str, int], value: float) -> None:
    assert p_binomial(args["D"], args["k"]) == pytest.approx(value, rel=DIGITS)


@pytest.mark.parametrize(("name", "args", "value"), vectors("p_betting"))
def test_betting_vectors(name: str, args: dict[str, Any], value: float) -> None:
    assert p_betting(**args) == pytest.approx(value, rel=DIGITS)


@pytest.mark.parametrize(("name", "args", "value"), vectors("duel_threshold"))
def test_duel_vectors(name: str, args: dict[str, Any], value: int | None) -> None:
    assert duel_threshold(args["D"], args["share"]) == value


def test_a_duel_is_won_from_its_threshold_on() -> None:
    for differ, share in itertools.product(range(60), (0.5, 1e-3, 1e-9)):
        won = [right for right in range(differ + 1) if p_binomial(differ, right) <= share]
        assert duel_threshold(differ, share) == (won[0] if won else None)


@pytest.mark.parametrize("differ", [0, 1, 2, 3, 4, 5, 38, 39, 400, 1001])
def test_the_binomial_errs_upwards_and_little(differ: int) -> None:
    for right in range(0, differ + 1, 1 + differ // 50):
        exact, found = binomial(differ, right), Fraction(p_binomial(differ, right))
        if exact > Fraction(LEAST):
            assert exact <= found <= exact * (1 + Fraction(1, 10**10))
        else:
            assert found == Fraction(LEAST)


@pytest.mark.parametrize(("differ", "right"), [(30_000, 15_001), (99_999, 50_600)])
def test_many_rows_agree_with_the_incomplete_beta_function(differ: int, right: int) -> None:
    from scipy.stats import binom

    assert p_binomial(differ, right) == pytest.approx(binom.sf(right - 1, differ, 0.5), rel=1e-8)


def test_tails_beyond_all_doubles_are_the_least_value() -> None:
    assert p_binomial(100_000, 100_000) == p_betting([1.0] * 5_000) == LEAST


@given(st.integers(0, 300), st.data())
def test_more_rows_right_are_more_evidence(differ: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, differ))
    assert p_binomial(differ, right) >= p_binomial(differ + 1, right + 1)


@given(st.lists(st.floats(-1, 1), max_size=200))
def test_betting_errs_upwards_and_little(differences: list[float]) -> None:
    exact, found = betting(differences), Fraction(p_betting(differences))
    assert exact <= found
    assert found == 1 or found <= max(Fraction(LEAST), exact * (1 + Fraction(1, 10**9)))


def test_rows_alike_are_no_bet() -> None:
    padded = p_betting([0.0, 0.5, 0.0, 0.25, 0.0, -0.125, 0.0])
    assert p_betting([0.5, 0.25, -0.125]) == pytest.approx(padded, rel=1e-12)
    assert p_betting([]) == p_betting([0.0] * 200) == 1


def test_every_pair_has_the_p_value_that_it_has_alone() -> None:
    generator = np.random.default_rng(3)
    losses = generator.integers(0, 101, (40, 300))
    better, worse = np.triu_indices(40, 1)  # 780 pairs: several chunks of them, several blocks
    found = betting_p_values(losses, better, worse, np.full(len(better), 100.0))
    for place in range(0, len(better), 41):
        alone = p_betting(losses[worse[place]] - losses[better[place]].astype(float), 100)
        assert found[place] == pytest.approx(alone, rel=1e-12)


def test_the_number_of_threads_changes_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(3).integers(0, 101, (40, 300))
    better, worse = np.triu_indices(40, 1)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("scoring.threads.thread_count", lambda count=threads: count)
        found.append(betting_p_values(losses, better, worse, np.full(len(better), 100.0)))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def outcomes(
    chances: Iterable[float], p_value: Callable[[tuple[int, ...]], float]
) -> list[tuple[float, float]]:
    """The p-value of every outcome with its chance, of rows that A has right with these chances."""
    each = list(chances)
    return [
        (math.prod(c if r else 1 - c for c, r in zip(each, rights, strict=True)), p_value(rights))
        for rights in itertools.product((0, 1), repeat=len(each))
    ]


def of_binomial(rights: tuple[int, ...]) -> float:
    return p_binomial(len(rights), sum(rights))


def of_betting(rights: tuple[int, ...]) -> float:
    return p_betting([2.0 * right - 1 for right in rights])


@pytest.mark.parametrize("p_value", [of_binomial, of_betting])
@pytest.mark.parametrize(
    "chances",
    [
        (0.5,) * 7,
        (0.75, 0.75, 0.0),
        (0.6,) * 5 + (0.0,),
        (1.0, 1.0, 0.0, 0.0),
        (0.875, 0.75, 0.75, 0.125, 0.25, 0.25),
        (0.5625,) * 8 + (0.0,),
    ],
)
def test_ties_of_rows_that_are_not_alike_are_rarely_separated(
    chances: tuple[float, ...], p_value: Callable[[tuple[int, ...]], float]
) -> None:
    """Every level that a p-value can take is tried."""
    assert sum(chances) <= len(chances) / 2
    found = outcomes(chances, p_value)
    for level in {p for _, p in found} - {1.0}:
        assert math.fsum(chance for chance, p in found if p <= level) <= level


def test_half_the_rows_and_a_half_are_not_enough_for_the_binomial() -> None:
    """With the chances of Hoeffding's remark the tail at k = 2 of 3 is 9/16, more than the 1/2 it
    has for coins."""
    found = outcomes((0.75, 0.75, 0.0), lambda rights: 0.5 if sum(rights) >= 2 else 1.0)
    assert sum(chance for chance, p in found if p <= 0.5) == 9 / 16
    assert p_binomial(3, 2) == 1
    assert p_binomial(4, 3) == 5 / 16 * (1 + 24 * 2.0**-52)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: p_binomial(3, 4),
        lambda: p_binomial(3, -1),
        lambda: duel_threshold(-1, 0.1),
        lambda: duel_threshold(10, 0.0),
        lambda: p_betting([1.5]),
        lambda: p_betting([0.5], scale=0),
    ],
)
def test_what_cannot_be_is_refused(ask: Any) -> None:
    with pytest.raises(ConditionError):
        ask()


def test_of_no_pairs_there_are_no_p_values() -> None:
    none = np.empty(0, np.int64)
    assert len(binomial_p_values(none, none)) == 0
    assert len(betting_p_values(np.zeros((1, 5)), none, none, np.empty(0))) == 0


def test_a_block_of_the_largest_factors_is_a_double() -> None:
    largest = 2.0 ** (paired._SCALES - 1) + 1
    assert math.isfinite(largest**paired._BLOCK)
    assert 0.1**paired._BLOCK > 1e-300
