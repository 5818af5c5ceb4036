"""Markov chains, Zhao's quilts and effective rows, against brute force over all sequences."""

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from research.bounds import correlated, zhao
from research.bounds.markov import Chain
from research.bounds.tails import hoeffding_tail
from scoring.errors import ConditionError
from scoring.guarantees.groups import kish

TWO = Chain(np.array([[0.8, 0.2], [0.3, 0.7]]))
THREE = Chain(np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2]]))


def chance(chain: Chain, fixed: dict[int, int], rows: int) -> float:
    """P(X_i = fixed[i] for all i), by summing over all sequences of so many rows."""
    states = range(len(chain.stationary))
    total = 0.0
    for sequence in itertools.product(states, repeat=rows):
        if any(sequence[row] != state for row, state in fixed.items()):
            continue
        steps = (chain.transition[x, y] for x, y in itertools.pairwise(sequence))
        total += float(chain.stationary[sequence[0]]) * math.prod(steps)
    return total


def influence(chain: Chain, row: int, quilt: Iterable[int], nearby: Iterable[int]) -> float:
    """The largest log ratio over states of the quilt and of any set of nearby rows."""
    rows, states, worst = max([*quilt, *nearby, row]) + 1, range(len(chain.stationary)), 0.0
    for given in _subsets(list(nearby)):
        for values in itertools.product(states, repeat=len(given) + len(list(quilt))):
            condition = dict(zip(given, values, strict=False))
            wanted = dict(zip(quilt, values[len(given) :], strict=True))
            likely = [
                chance(chain, {**condition, **wanted, row: x}, rows)
                / chance(chain, {**condition, row: x}, rows)
                for x in states
            ]
            worst = max(worst, math.log(max(likely) / min(likely)))
    return worst


def _subsets(rows: list[int]) -> list[tuple[int, ...]]:
    return [
        chosen for size in range(len(rows) + 1) for chosen in itertools.combinations(rows, size)
    ]


@pytest.mark.parametrize("chain", [TWO, THREE])
def test_the_stationary_law_stays(chain: Chain) -> None:
    assert chain.stationary @ chain.transition == pytest.approx(chain.stationary)
    assert chain.stationary.sum() == pytest.approx(1)
    assert chain.least == pytest.approx(chain.stationary.min())


def test_a_chain_of_two_states_has_the_closed_forms() -> None:
    assert TWO.stationary == pytest.approx([0.6, 0.4])
    assert TWO.gap == pytest.approx(0.5)
    assert TWO.second_eigenvalue == pytest.approx(0.5)
    assert TWO.reversible


def test_alternating_rows_have_no_positive_second_eigenvalue() -> None:
    alternating = Chain(np.array([[0.1, 0.9], [0.9, 0.1]]))
    assert alternating.second_eigenvalue == 0
    assert alternating.gap == pytest.approx(0.2)


@pytest.mark.parametrize(
    "transition",
    [
        [[1.0, 0.0], [0.0, 1.0]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        [[0.5, 0.6], [0.5, 0.5]],
        [[1.5, -0.5], [0.5, 0.5]],
        [[0.5, 0.5]],
        [[1.0]],
    ],
)
def test_a_matrix_that_is_no_mixing_chain_is_refused(transition: list[list[float]]) -> None:
    with pytest.raises(ConditionError):
        Chain(np.array(transition))


def test_a_slow_irreducible_chain_is_taken() -> None:
    """The slowest to become positive of five states (Wielandt): a cycle with one shortcut."""
    cycle = np.roll(np.eye(5), 1, axis=1)
    cycle[4] = [0.5, 0.5, 0, 0, 0]
    assert Chain(cycle).least > 0


@pytest.mark.parametrize("chain", [TWO, THREE])
def test_a_blanket_has_the_influence_of_its_definition(chain: Chain) -> None:
    assert zhao.blanket_influence(chain) == pytest.approx(influence(chain, 1, (0, 2), ()))


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 2)])
def test_a_quilt_has_the_influence_of_its_definition(before: int, after: int) -> None:
    """Also given any of the nearby rows."""
    row = before
    nearby = [i for i in range(1, before + after) if i != row]
    expected = influence(THREE, row, (0, before + after), nearby)
    assert THREE.influence(before, after) == pytest.approx(expected)


def test_a_row_that_excludes_its_neighbours_has_infinite_influence() -> None:
    assert Chain(np.array([[0.5, 0.5], [1.0, 0.0]])).influence(1, 1) == math.inf


def test_the_quilts_of_a_row_near_an_end_may_leave_that_end_out() -> None:
    quilts = zhao.quilts_of_row(TWO, rows=10, row=2, reach=3)
    found = {(q.nearby, round(q.influence, 9)) for q in quilts}
    assert (1, round(TWO.influence(None, 1), 9)) in found
    assert (0, round(TWO.influence(1, 1), 9)) in found
    inside = zhao.quilts_of_row(TWO, rows=10, row=5, reach=3)
    assert len(inside) == 9


def test_lemma_2_of_a_chain_is_the_worst_rows_best_quilt() -> None:
    each = [
        zhao.lemma2_epsilon(2.0, zhao.quilts_of_row(THREE, 9, row, reach=3)) for row in range(1, 10)
    ]
    assert zhao.lemma2_epsilon_of_chain(THREE, 9, 2.0, reach=3) == pytest.approx(min(each))


def test_lemma_2_with_blankets_only_is_lemma_3() -> None:
    blanket = zhao.blanket_influence(THREE)
    epsilon = zhao.lemma2_epsilon(20.0, [zhao.Quilt(0, blanket)])
    assert epsilon == pytest.approx(zhao.lemma3_epsilon(20.0, blanket))


def test_theorem_1_of_a_chain_asks_for_more_rows_than_of_independent_ones() -> None:
    needed = zhao.theorem1_rows_of_chain(TWO, 1000, 10, 0.02, 0.9, 0.05, reach=12)
    assert needed > zhao.theorem1_rows_star(10, 0.02, 0.9, 0.05, 0.0)
    with pytest.raises(ConditionError):
        zhao.theorem1_rows_of_chain(TWO, 1000, 10, 0.02, 0.9, 0.05, reach=1)


def test_lemma_4_takes_reversible_chains_only() -> None:
    epsilon, *_ = zhao.lemma4_epsilon_of_chain(TWO, 100, 0.1, 0.1)
    assert epsilon == zhao.lemma4_epsilon(0.1, TWO.gap, TWO.least, 0.1)[0]
    with pytest.raises(ConditionError, match="reversible"):
        zhao.lemma4_epsilon_of_chain(THREE, 100, 0.1, 0.1)
    with pytest.raises(ConditionError, match="rows are needed"):
        zhao.lemma4_epsilon_of_chain(TWO, 10, 0.1, 0.1)


def test_lemma_1_is_false_for_copies_of_one_coin() -> None:
    """theory.md E15: a constant answer has no privacy loss, and the mean of n copies of one coin is
    0 or 1; what it claims about that is refuted by the group of n rows, which counts as one."""
    assert zhao.lemma1_tail_printed(10_000, 0.4, 1 / 10_000) < 1e-70
    effective = kish(np.array([10_000]))
    assert effective == 1
    assert hoeffding_tail(correlated.whole_rows(effective), 0.4) > 1


def test_no_effective_row_certifies_nothing() -> None:
    with pytest.raises(ConditionError):
        correlated.whole_rows(0.9)


def test_effective_rows_of_a_chain_give_the_tail_of_reversible_chains() -> None:
    effective = correlated.rows_of_chain(10_000, TWO)
    expected = zhao.markov_hoeffding_tail(10_000, 0.05, TWO.second_eigenvalue)
    assert 2 * math.exp(-2 * effective * 0.05**2) == pytest.approx(expected)


@pytest.mark.parametrize("deviation", [0.1, 0.2, 0.3])
def test_the_tail_of_a_chain_holds_for_two_states_exactly(deviation: float) -> None:
    rows = 60
    truth = float(TWO.stationary[1])
    law = np.zeros((2, rows + 1))  # state now, ones so far
    law[0, 0], law[1, 1] = TWO.stationary
    for _ in range(rows - 1):
        to_zero = law[0] * TWO.transition[0, 0] + law[1] * TWO.transition[1, 0]
        to_one = law[0] * TWO.transition[0, 1] + law[1] * TWO.transition[1, 1]
        law = np.stack([to_zero, np.append(0.0, to_one[:-1])])
    means = np.arange(rows + 1) / rows
    exact = float(law.sum(axis=0)[np.abs(means - truth) >= deviation].sum())
    assert 0 < exact <= zhao.markov_hoeffding_tail(rows, deviation, TWO.second_eigenvalue)
    assert exact > float(stats.binom.sf(rows * (truth + deviation), rows, truth))
