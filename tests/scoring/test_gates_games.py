"""Gates as games: every labelling, every history, and analysts who may ask what they like.

What gates promise together has a chance of at most half of beta to be wrong, because the shares of
all gates after all histories add up to no more (theory.md 10.1). Small ledgers are played to the
end here, alone and beside boards, duels and revisions; each mistake that would be tempting fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from scoring import gates
from scoring.duels import Comparison, charge_duel
from scoring.gates import Evidence, Gate, charge_gate, gate_length
from scoring.guarantees.paired import p_binomial
from scoring.laws import VERSION
from scoring.laws.books import (
    COIN,
    Account,
    BoardBook,
    Count,
    TeamBook,
    charge,
    count_length,
)
from scoring.laws.exact import MILLION, ln_up
from scoring.laws.laws import Disclosure, Plain
from scoring.ledger import Terms
from scoring.measurement import Mean

# --- All labellings, and the best of all analysts -------------------------------------------------

ROWS = 4
LABELLINGS = list(product((0, 1), repeat=ROWS))
FILES = LABELLINGS
COINS, UNLIKE = (0.5, 0.5, 0.5, 0.5), (0.5, 0.6, 0.3, 0.5)


@dataclass(frozen=True)
class Asked:
    """A gate on some files: the labellings that pass, as bits, and which answers are false."""

    passing: int
    false_pass: bool
    false_fail: bool


def losses(file: Sequence[int], labels: Sequence[int]) -> int:
    return sum(guess != label for guess, label in zip(file, labels, strict=True))


def true_loss(file: Sequence[int], chances: Sequence[float]) -> float:
    return sum(one if guess == 0 else 1 - one for guess, one in zip(file, chances, strict=True))


def marks(chances: Sequence[float], length: int) -> Iterator[Asked]:
    for file, wrong in product(FILES, range(ROWS)):
        gate = Gate("mark", Fraction(wrong, ROWS))
        promised = gates.promise(gate, length, ROWS)
        passing = [
            gates.passes(gate, Evidence(Mean(losses(file, labels), ROWS, 1)), length)
            for labels in LABELLINGS
        ]
        truth = true_loss(file, chances) / ROWS
        assert promised.low is not None
        yield Asked(as_bits(passing), truth > promised.high, truth < promised.low)


def opposites(chances: Sequence[float], length: int) -> Iterator[Asked]:
    for file in FILES:
        known = tuple(1 - guess for guess in file)
        passing = []
        for labels in LABELLINGS:
            found = Comparison(p_binomial(ROWS, losses(known, labels)))
            passing.append(gates.passes(Gate("better"), Evidence(comparison=found), length))
        is_better = true_loss(file, chances) < true_loss(known, chances)
        yield Asked(as_bits(passing), not is_better, false_fail=False)


def both(chances: Sequence[float], length: int) -> Iterator[Asked]:
    yield from marks(chances, length)
    yield from opposites(chances, length)


KINDS: dict[str, Callable[[Sequence[float], int], Iterator[Asked]]] = {
    "mark": marks,
    "better": opposites,
    "both": both,
}


def as_bits(passing: Sequence[bool]) -> int:
    return sum(passed << place for place, passed in enumerate(passing))


def worst_chance(kind: str, chances: Sequence[float], number: int, length: int) -> float:
    """The chance of a false answer among so many gates, if they are asked as well as can be."""
    questions = set(KINDS[kind](chances, length))
    weights = [
        math.prod(one if label else 1 - one for label, one in zip(labels, chances, strict=True))
        for labels in LABELLINGS
    ]

    @cache
    def mass(labellings: int) -> float:
        return math.fsum(weight for place, weight in enumerate(weights) if labellings >> place & 1)

    @cache
    def worst(labellings: int, left: int) -> float:
        if not left or not labellings:
            return 0.0
        return max(
            (mass(yes) if asked.false_pass else worst(yes, left - 1))
            + (mass(no) if asked.false_fail else worst(no, left - 1))
            for asked in questions
            for yes in (labellings & asked.passing,)
            for no in (labellings & ~asked.passing,)
        )

    return worst(2 ** len(LABELLINGS) - 1, number)


def length_of(number: int, beta: Fraction) -> int:
    return gate_length(Terms(version=VERSION, gate_limit=number), Account(), beta)


# At these, a false answer has just enough room among four rows.
GAMES = [("mark", 1, Fraction(26, 100)), *((kind, 2, Fraction(53, 100)) for kind in KINDS)]


@pytest.mark.parametrize("chances", [COINS, UNLIKE], ids=["coins", "unlike"])
@pytest.mark.parametrize(("kind", "number", "beta"), GAMES)
def test_no_analyst_gets_a_false_answer_more_often_than_promised(
    kind: str, number: int, beta: Fraction, chances: Sequence[float]
) -> None:
    found = worst_chance(kind, chances, number, length_of(number, beta))
    assert found <= beta / 2
    if chances is COINS:  # promises that nothing could break would show nothing
        assert found >= beta / 2 * Fraction(2, 5)


@pytest.mark.parametrize(("kind", "number"), [("mark", 2), ("mark", 3), ("better", 2)])
def test_an_analyst_finds_out_gates_that_are_not_charged(kind: str, number: int) -> None:
    beta = Fraction(13, 100)
    assert worst_chance(kind, COINS, number, length_of(number, beta)) <= beta / 2
    uncharged = length_of(number, beta) - number * COIN
    assert worst_chance(kind, COINS, number, uncharged) > beta / 2


# --- The margin of a tolerance --------------------------------------------------------------------


def chance_to_pass(sizes: Sequence[int], ups: Sequence[float], bound: float, rows: int) -> float:
    """The chance that a mean difference is at most `bound`: groups of -1 or 1, of so many rows."""
    sums = {0: 1.0}
    for size, up in zip(sizes, ups, strict=True):
        after: dict[int, float] = {}
        for total, chance in sums.items():
            for step, part in ((size, up), (-size, 1 - up)):
                after[total + step] = after.get(total + step, 0.0) + chance * part
        sums = after
    return math.fsum(chance for total, chance in sums.items() if total <= bound * rows + 1e-9)


@pytest.mark.parametrize("nats", [0.5, 1.5, 3.0])
@pytest.mark.parametrize(
    "sizes", [[1] * 40, [4] * 10, [1] * 8 + [2] * 8 + [4] * 4], ids=["rows", "groups", "unequal"]
)
def test_a_tolerance_errs_with_no_more_than_its_share(sizes: list[int], nats: float) -> None:
    """Half of the rows differ: pass where the truth is as far beyond the margin as may be."""
    rows, differing = 2 * sum(sizes), Fraction(1, 2)
    length = int(nats * MILLION)
    chances = np.random.default_rng(3)
    for _ in range(20):
        ups = np.clip(chances.beta(4, 2, len(sizes)), 0.01, 0.99).tolist()
        truth = float(np.dot(sizes, 2 * np.array(ups) - 1)) / rows
        gate = Gate("not_worse", Fraction(0), differing)
        margin = gates.promise(gate, length, rows // max(sizes)).high
        assert chance_to_pass(sizes, ups, truth - margin, rows) <= math.exp(-nats)


def test_a_margin_that_counts_rows_of_groups_would_not_do() -> None:
    ups, rows = [0.5] * 10, 80
    gate = Gate("not_worse", Fraction(0), Fraction(1, 2))
    by_rows, by_groups = (gates.promise(gate, 2 * MILLION, n).high for n in (rows, rows // 4))
    assert chance_to_pass([4] * 10, ups, -by_groups, rows) <= math.exp(-2)
    assert chance_to_pass([4] * 10, ups, -by_rows, rows) > math.exp(-2)


# --- All histories, with boards, duels and revisions between --------------------------------------

BETA = Fraction(1, 20)
LAWS = (Plain(),)
QUESTION = Disclosure(3)
ANSWERS: tuple[int | None, ...] = (None, 0, 1, 2)


@dataclass(frozen=True)
class Node:
    """A history. asks: what comes next, as any function of the history."""

    history: tuple[int, ...]
    account: Account
    team: TeamBook
    asks: str


def begin(seed: int, kinds: Sequence[str]) -> Node:
    return Node((), Account(), TeamBook.start(LAWS), pick((), seed, kinds))


def pick(history: tuple[int, ...], seed: int, kinds: Sequence[str]) -> str:
    return kinds[int(np.random.default_rng([seed, *history]).integers(len(kinds)))]


def grow(node: Node, seed: int, kinds: Sequence[str]) -> Iterator[Node]:
    """All histories that are longer by one."""
    answered: list[tuple[Account, TeamBook]] = []
    if node.asks == "gate":
        answered += [(charge_gate(node.account), node.team)] * 2
    elif node.asks == "duel":
        answered += [(charge_duel(node.account, 0, better=yes), node.team) for yes in (False, True)]
    else:
        before = node.account.boards.get("b", BoardBook.start(LAWS))
        for level in ANSWERS:
            book, team = charge(LAWS, before, node.team, QUESTION, level)
            count = node.account.count.after(QUESTION, level)
            boards = {**node.account.boards, "b": book}
            answered.append((replace(node.account, count=count, boards=boards), team))
    for answer, (account, team) in enumerate(answered):
        history = (*node.history, answer)
        yield Node(history, account, team, pick(history, seed, kinds))


def shares(seed: int, share: Callable[[Node], float]) -> dict[tuple[str, int], float]:
    """What all histories before each gate have together, and before each number on the boards."""
    nodes, found = [begin(seed, MIXED)], dict[tuple[str, int], float]()
    for _ in range(LONGEST):
        for node in nodes:
            is_gate = node.asks == "gate"
            place = node.account.gates if is_gate else node.account.count.numbered
            key = ("gate" if is_gate else "number", place + 1)
            found[key] = found.get(key, 0.0) + share(node)
        nodes = [each for node in nodes for each in grow(node, seed, MIXED)]
    return found


def part_of_gate(limit: int, account: Account) -> float:
    """The part of half of beta that a gate rests on."""
    length = gate_length(Terms(version=VERSION, gate_limit=limit), account, BETA)
    return math.exp(-length / MILLION) / float(BETA / 2)


MIXED, LONGEST = ("gate", "gate", "board", "duel"), 5


@pytest.mark.parametrize("seed", range(2))
def test_gates_between_other_questions_have_half_of_beta(seed: int) -> None:
    found = shares(seed, lambda node: part_of_gate(LONGEST, node.account))
    assert math.fsum(found[key] for key in found if key[0] == "gate") <= 1


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 2)], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_with_gates_a_code_is_a_law_before_every_number(seed: int, weight: Fraction) -> None:
    found = shares(seed, lambda node: math.exp(-node.account.length(weight) / MILLION))
    assert 0.4 < max(found[key] for key in found if key[0] == "number") <= 1


def test_the_count_would_not_do_for_gates() -> None:
    """A gate after the first answer of a board: at a moment that the count does not foresee."""
    values = 3
    found = [values * math.exp(-count_length(asked, 1, ln_up(values)) / MILLION)
             for asked in range(1, 1200)]  # fmt: skip
    assert math.fsum(found) > 1


MOST_REVISIONS = 2


def with_revisions(limit: int, revise: Callable[[Account], Account]) -> float:
    """What all histories of gates have together, if some revisions come between them."""
    ways, total = Counter({Count(): 1}), 0.0
    for answered in range(limit):
        revised = ways.copy()
        for _ in range(MOST_REVISIONS):  # one may follow another at once
            revised = Counter(
                {
                    revise(Account(count, gates=answered)).count: number
                    for count, number in revised.items()
                    if count.numbered < MOST_REVISIONS
                }
            )
            ways += revised
        total += sum(
            number * 2**answered * part_of_gate(limit, Account(count, gates=answered))
            for count, number in ways.items()
        )
    return total


def test_revisions_between_gates_are_paid_for_at_their_place() -> None:
    assert 0.9 < with_revisions(16, Account.revise) <= 1


def test_revisions_would_be_too_cheap_at_their_number() -> None:
    assert with_revisions(16, lambda account: replace(account, count=account.count.revise())) > 1
