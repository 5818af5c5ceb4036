"""Rank sets: against vectors and slow references, and true for all entries at once."""

import json
import math
from decimal import Decimal
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError
from scoring.guarantees.paired import p_betting, p_binomial
from scoring.guarantees.rank_sets import (
    RankSets,
    Rows,
    close_transitively,
    compare_pairs,
    holm,
    pair_level,
    rank_entries,
    rank_sets,
    rank_teams,
)

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())["section10"]
BETA = 0.05
CLASSES = Rows(two_classes=True)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def as_pairs(matrix: Any) -> list[list[int]]:
    return np.argwhere(matrix).tolist()


def rank(losses: Any, codes: Any = None, rows: Rows = CLASSES, **settings: Any) -> RankSets:
    losses = np.array(losses)
    codes = losses if codes is None else np.array(codes)  # labels of 0: what is wrong is a 1
    return rank_entries(losses, codes, rows, **{"units": 1, "level": BETA, **settings})


@pytest.mark.parametrize("vector", VECTORS["holm"])
def test_holm_vectors(vector: dict[str, Any]) -> None:
    names, p = zip(*vector["args"]["p"], strict=True)
    rejects = holm(p, vector["args"]["beta"])
    assert [name for name, rejected in zip(names, rejects, strict=True) if rejected] == (
        vector["value"]
    )


@pytest.mark.parametrize("vector", VECTORS["rank_table"])
def test_rank_vectors(vector: dict[str, Any]) -> None:
    right, expected = np.array(vector["args"]["losses_right"]), vector["value"]
    pairs = compare_pairs(1 - right, right, CLASSES, units=1)
    found = {(a, b): p for a, b, p in zip(pairs.better, pairs.worse, pairs.p, strict=True)}
    for a, b, p in expected["p"]:
        assert found.get((a, b), 1.0) == pytest.approx(p, rel=1e-3)  # of four digits
    assert pairs.hypotheses == len(expected["p"])
    sets = rank(1 - right, right, level=vector["args"]["beta"])
    assert [[a, b] for a, b, _ in sets.rejected] == expected["holm"]
    assert as_pairs(sets.better) == expected["closure"]
    assert [list(ends) for ends in sets.places] == expected["rank_sets"]
    first = [place for place, (best, _) in enumerate(sets.places) if best == 1]
    assert first == expected["could_be_first"]


@given(st.lists(st.floats(0, 1), max_size=8), st.integers(0, 5))
def test_holm_is_the_closed_test_of_bonferroni(p: list[float], more: int) -> None:
    """A hypothesis is rejected if every set that holds it has a p-value of at most beta / size."""
    values = p + [1.0] * more
    rejects = holm(p, BETA, len(values))
    for place in range(len(p)):
        others = [*values[:place], *values[place + 1 :]]
        closed = all(
            min([values[place], *some]) * (size + 1) <= BETA
            for size in range(len(others) + 1)
            for some in combinations(others, size)
        )
        assert bool(rejects[place]) == closed


def test_holm_counts_all_pairs_and_not_only_those_that_are_given() -> None:
    assert holm([0.02], BETA).all()
    assert not holm([0.02], BETA, hypotheses=6).any()
    with pytest.raises(ConditionError):
        holm([0.1, 0.2], BETA, hypotheses=1)


def test_both_orders_of_every_pair_are_hypotheses() -> None:
    """Of three entries 6: a p-value of 1/128, 7 rows of 7, is just enough at the level 6/128."""
    codes = np.array([[0] * 7, [1] * 7, [1] * 7])
    assert rank(codes).hypotheses == 6
    assert as_pairs(rank(codes, level=6 / 128 * 1.001).better) == [[0, 1], [0, 2]]
    assert not rank(codes, level=6 / 128 * 0.999).better.any()


@given(st.integers(2, 7), st.integers(0, 2**21 - 1))
def test_the_closure_is_that_of_all_chains(entries: int, bits: int) -> None:
    better = np.zeros((entries, entries), np.bool_)
    for place, (a, b) in enumerate(combinations(range(entries), 2)):
        better[a, b] = bits >> place & 1
    expected = better.copy()
    for middle in range(entries):  # Warshall's algorithm
        expected |= expected[:, middle, np.newaxis] & expected[middle]
    assert np.array_equal(close_transitively(better), expected)


@given(st.integers(1, 5), st.integers(0, 1023))
def test_places_hold_exactly_the_orders_that_are_left(entries: int, bits: int) -> None:
    better = np.zeros((entries, entries), np.bool_)
    for place, (a, b) in enumerate(combinations(range(entries), 2)):
        better[a, b] = bits >> place & 1
    better = close_transitively(better)
    possible = [order for order in permutations(range(entries))
                if all(order[a] < order[b] for a, b in np.argwhere(better))]  # fmt: skip
    for entry, (best, worst) in enumerate(rank_sets(better)):
        places = {order[entry] + 1 for order in possible}
        assert (min(places), max(places)) == (best, worst)


def pair_p(losses: Any, codes: Any, rows: Rows, units: int, a: int, b: int) -> float:
    """One pair, slowly."""
    d = (losses[b] - losses[a]) / units
    differ = codes[a] != codes[b]
    if rows.form == "binomial":
        return p_binomial(int(differ.sum()), int((d > 0).sum()))
    weights = np.ones(len(d)) if rows.weights is None else rows.weights
    groups = np.arange(len(d)) if rows.groups is None else rows.groups
    names = np.unique(groups)
    sums = [math.fsum((weights * d)[groups == name]) for name in names]
    stakes = [math.fsum((weights * differ)[groups == name]) for name in names]
    if rows.weights is None and rows.groups is None:
        stakes = [1.0]
    return p_betting(sums, max(stakes)) if max(stakes) else 1.0


WEIGHTS = rng(1).integers(0, 4, 90) / 4
GROUPS = rng(2).integers(0, 12, 90)
SETTINGS = {
    "two classes": (CLASSES, 2, 1),
    "three classes": (Rows(), 3, 1),
    "losses": (Rows(), 0, 1000),
    "weights": (Rows(weights=WEIGHTS), 3, 1),
    "groups": (Rows(two_classes=True, groups=GROUPS), 2, 1),
    "weights of groups": (Rows(weights=WEIGHTS, groups=GROUPS), 0, 1000),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_all_pairs_have_the_p_values_of_one(name: str) -> None:
    rows, classes, units = SETTINGS[name]
    generator = rng()
    if classes:
        labels = generator.integers(0, classes, 90)
        knows = generator.random((6, 90)) < np.linspace(0.2, 0.9, 6)[:, np.newaxis]
        codes = np.where(knows, labels, generator.integers(0, classes, (6, 90)))
        losses = (codes != labels).astype(np.int32)
    else:
        codes = losses = generator.integers(0, units + 1, (6, 90)) // np.arange(1, 7)[:, np.newaxis]
    pairs = compare_pairs(losses, codes, rows, units=units)
    assert pairs.hypotheses == 30
    assert len(pairs.p) == 15
    assert pairs.p.min() < 0.5
    for a, b, p in zip(pairs.better, pairs.worse, pairs.p, strict=True):
        exact = pair_p(losses, codes, rows, units, a, b)
        assert exact * (1 - 1e-12) <= p <= exact * 1.0011
        assert pair_p(losses, codes, rows, units, b, a) == pytest.approx(1.0)
        assert len(Decimal(repr(float(p))).as_tuple().digits) <= 4


def test_with_three_classes_rows_that_both_have_wrong_are_no_binomial() -> None:
    """A row on which both err differs in its predictions and not in its losses."""
    with pytest.raises(ConditionError, match="two classes"):
        rank([[0, 1], [1, 1]], [[0, 1], [1, 2]])
    with pytest.raises(ConditionError, match="0 or 1"):
        rank([[0, 5], [5, 5]], [[0, 1], [1, 1]], units=10)
    assert Rows().form == "betting"
    assert Rows(two_classes=True, weights=np.ones(2)).form == "betting"


def test_a_group_stakes_all_rows_whose_predictions_differ() -> None:
    """In a group of ten rows both err on nine; the losses differ on one, and ten could have."""
    losses = np.array([[0] + [1] * 9, [1] * 10])
    codes = np.array([[0] + [1] * 9, [1] + [2] * 9])
    pairs = compare_pairs(losses, codes, Rows(groups=np.zeros(10, np.int64)), units=1)
    assert pairs.p[0] == pytest.approx(p_betting([1.0], 10), rel=1e-3)
    assert pairs.p[0] > p_betting([1.0], 1)


def test_equal_entries_are_never_separated() -> None:
    losses = np.array([[0, 1000, 500]] * 3)
    for rows in (Rows(), Rows(weights=np.ones(3)), Rows(groups=np.array([0, 0, 1]))):
        assert rank(losses, rows=rows, units=1000).places == [(1, 3)] * 3


def test_beyond_the_first_entries_only_those_are_compared_with() -> None:
    losses = rng().random((6, 200)) < np.linspace(0.05, 0.9, 6)[:, np.newaxis]
    pairs = compare_pairs(losses.astype(int), losses.astype(int), CLASSES, units=1, heads=2)
    found = {tuple(sorted(pair)) for pair in zip(pairs.better, pairs.worse, strict=True)}
    assert found == {(a, b) for a, b in combinations(range(6), 2) if a < 2}
    assert pairs.hypotheses == 2 * len(found)


def test_more_said_of_the_rows_asks_for_more_evidence() -> None:
    assert pair_level(0.05) == 0.025
    assert pair_level(0.05, 3.0) == pytest.approx(0.025 * math.exp(-3))
    assert pair_level(0.05, 5000.0) == 0
    assert not rank([[0] * 9000, [1] * 9000], level=pair_level(0.05, 5000.0)).better.any()
    with pytest.raises(ConditionError):
        pair_level(0.0)
    with pytest.raises(ConditionError):
        pair_level(0.05, -1.0)


def test_a_team_is_better_by_one_entry_that_beats_all_of_the_other() -> None:
    better = np.zeros((5, 5), np.bool_)
    better[0, [1, 2, 3, 4]] = better[1, [3]] = True
    assert as_pairs(rank_teams(better, [0, 1, 1, 2, 2])) == [[0, 1], [0, 2]]
    better[2, [4]] = True  # another entry of team 1 beats the other of team 2: that is not one
    assert as_pairs(rank_teams(better, [0, 1, 1, 2, 2])) == [[0, 1], [0, 2]]
    better[1, [4]] = True
    assert as_pairs(rank_teams(better, [0, 1, 1, 2, 2])) == [[0, 1], [0, 2], [1, 2]]


def test_what_is_stored_is_json_from_which_the_rest_follows() -> None:
    losses = (rng().random((8, 400)) < np.linspace(0.1, 0.4, 8)[:, np.newaxis]).astype(np.int32)
    sets = rank(losses)
    document = json.loads(json.dumps(sets.to_json()))
    better = np.zeros((8, 8), np.bool_)
    for a, b, p in document["better"]:
        better[a, b] = True
        assert float(p) <= float(document["level"])
    assert [list(ends) for ends in rank_sets(close_transitively(better))] == document["places"]
    again = rank_entries(np.asfortranarray(losses), losses, CLASSES, units=1, level=BETA)
    assert json.dumps(again.to_json()) == json.dumps(sets.to_json())


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_ties_of_rows_that_are_not_alike_are_separated_in_few_contests(classes: int) -> None:
    """Twelve entries that are exactly as good, each right on rows of its own; beta of a half."""
    generator, wrong, contests, beta = rng(classes), 0, 60, 0.5
    for _ in range(contests):
        chances = generator.dirichlet(np.full(classes, 0.4), 120)
        orders = [generator.permutation(120) for _ in range(6)]
        codes = np.empty((12, 240), np.int64)  # every row twice, its classes in the other order
        for entry in range(6):
            guess = generator.integers(0, classes, 120)
            codes[entry] = np.concatenate([guess, (guess + 1) % classes])
            swap = orders[entry] < 60
            first, second = codes[entry][:120], codes[entry][120:]
            codes[entry + 6] = np.concatenate([np.where(swap, second, first),
                                               np.where(swap, first, second)])  # fmt: skip
        both = np.concatenate([chances, chances])
        truth = 1 - both[np.arange(240), codes].mean(axis=1)
        labels = (both.cumsum(axis=1) < generator.random((240, 1))).sum(axis=1)
        sets = rank(codes != labels, codes, Rows(two_classes=classes == 2), level=beta)
        wrong += any(truth[a] >= truth[b] - 1e-12 for a, b in np.argwhere(sets.better))
    assert wrong <= beta * contests
    assert wrong < contests / 6


def test_far_apart_entries_are_separated() -> None:
    labels = rng().random((8, 6000))
    losses = (labels < np.linspace(0.1, 0.5, 8)[:, np.newaxis]).astype(np.int32)
    assert rank(losses).places == [(place, place) for place in range(1, 9)]
    assert rank(losses, rows=Rows()).places == [(place, place) for place in range(1, 9)]
