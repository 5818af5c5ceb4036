"""Exact code lengths: their vectors, that laws are laws, and games that tell right from wrong.

A ledger may rest its certificates on a code only if the shares of all that can be asked, after all
histories, add up to at most beta. The games play every history and every labelling, and each of
four tempting mistakes breaks them (theory.md 10.1, 10.10).
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ConditionError, StateError
from scoring.guarantees.intervals import kl_cell_interval, kl_divergence
from scoring.laws import books, index
from scoring.laws.books import BoardBook, Count, TeamBook
from scoring.laws.exact import MILLION, basel_up, binomial_up, floor_less_root, micro, mix
from scoring.laws.laws import (
    Agreement,
    Corrections,
    Improvement,
    Law,
    LawState,
    Learned,
    Never,
    Plain,
    Public,
    bucket,
    kt_probability,
    level_probability,
    z_bucket,
)
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.mechanisms.fitness import highest_rung
from scoring.noise import SteadyNoise

SECTION = json.loads(Path(__file__).with_name("vectors.json").read_text())["section10"]


def micro_of(nats: float | None) -> int | None:
    return None if nats is None else round(nats * MILLION)


def kt_cost(bits: Sequence[int]) -> int:
    length, ones = 0, 0
    for seen, bit in enumerate(bits):
        one = kt_probability(ones, seen)
        length += micro(one if bit else 1 - one)
        ones += bit
    return length


def level_chance(counts: dict[str, int], centre: int, low: int, high: int, level: int) -> float:
    found = {int(value): count for value, count in counts.items()}
    return float(level_probability(found, ((range(low, high + 1), -centre),), level))


def played(
    law: Law[Any], turns: Sequence[tuple[int, Any, int | None]]
) -> tuple[list[float], LawState]:
    """The probability of each answer to a team's question, and the state after them."""
    state, memories, found = LawState(), dict[int, Fraction](), []
    for team, question, level in turns:
        memory = memories.get(team, Fraction(0))
        found.append(float(law.probability(state, memory, question, level)))
        state, memories[team] = law.advance(state, memory, question, level)
    return found, state


def ladder_law(
    steps: int, rung: int, public: list[int] | None, history: list[dict[str, Any]]
) -> dict[str, Any]:
    best: dict[int, int] = {}
    turns: list[tuple[int, Any, int | None]] = []
    for each in history:
        level, loss = each.get("level"), Fraction(each.get("public_loss", 0))
        team = each["team"]
        turns.append((team, Improvement(steps, best.get(team, rung), loss), level))
        if level is not None:
            best[team] = level
    found, state = played(Public(*public) if public else Learned(), turns)
    return {"probabilities": found, "micro": state.length}


def guard_law(steps: int, history: list[dict[str, Any]]) -> dict[str, Any]:
    turns = [
        (each["team"], Agreement(steps, each.get("low"), each.get("high")), each.get("level"))
        for each in history
    ]
    found, state = played(Corrections(), turns)
    return {"probabilities": found, "micro": state.length}


# Each takes a vector's arguments; lengths are in nats there and in millionths here.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "index_basel": lambda t: index.basel(t) / MILLION,
    "index_open": lambda t: index.open_ended(t) / MILLION,
    "index_declared": lambda t, m, reserve: index.declared(t, m, Fraction(str(reserve))) / MILLION,
    "micro": lambda numerator, denominator: micro(Fraction(numerator, denominator)),
    "bucket": lambda s: bucket(earlier=s),
    "kt_cost": kt_cost,
    "count_cost": lambda t, f, ln_alphabets: (
        books.count_length(t - 1, f, round(ln_alphabets * MILLION)) / MILLION
    ),
    "level_probability": level_chance,
    "z_bucket": lambda gap, e, a, n: z_bucket(Fraction(gap), Fraction(e), a, n),
    "ladder_law": ladder_law,
    "guard_law": guard_law,
    "mixture_cost": lambda costs: (
        (mix((Fraction(1, len(costs)), micro_of(cost)) for cost in costs) or 0) / MILLION
    ),
    "budget": lambda beta, index, code: (
        books.budget(Fraction(str(beta)), round(index * MILLION), round(code * MILLION)) / MILLION
    ),
    "kl_ends": lambda n, low, high, L: list(kl_cell_interval(n, low, high, L)),  # noqa: N803
}
VECTORS = [(name, each) for name in FUNCTIONS for each in SECTION[name]]


@pytest.mark.parametrize(("name", "vector"), VECTORS, ids=[name for name, _ in VECTORS])
def test_a_vector_of_the_theory(name: str, vector: dict[str, Any]) -> None:
    found, expected = FUNCTIONS[name](**vector["args"]), vector["value"]
    if name in {"ladder_law", "guard_law"}:
        assert found["micro"] == expected["micro"]
        found, expected = found["probabilities"], expected["probabilities"]
    if isinstance(expected, int) or expected is None:
        assert found == expected
    else:
        assert found == pytest.approx(expected, abs=4e-6)


fractions = st.builds(
    lambda part, more: Fraction(part, part + more),
    st.integers(1, 10**30),
    st.integers(0, 10**30),
)


@given(fractions)
def test_a_length_is_rounded_up_to_the_next_millionth(probability: Fraction) -> None:
    far = Context(prec=120)
    ratio = far.divide(Decimal(probability.denominator), Decimal(probability.numerator))
    exact = far.multiply(far.ln(ratio), Decimal(MILLION))
    assert 0 <= micro(probability) - exact < 1


def test_a_probability_next_to_one_costs_a_millionth_and_an_impossible_one_has_no_code() -> None:
    assert micro(1 - Fraction(1, 10**60)) == 1
    for impossible in (Fraction(0), Fraction(3, 2)):
        with pytest.raises(ConditionError):
            micro(impossible)


@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, 1000, 4000])
def test_binomials_are_those_of_whole_numbers(total: int) -> None:
    for chosen in {0, total // 9, total // 2, total}:
        found = binomial_up(total, chosen)
        exact = Context(prec=60).ln(Decimal(math.comb(total, chosen))) * MILLION
        assert 0 <= found - exact < 1.001


@given(st.lists(st.none() | st.integers(0, 10**9), min_size=1, max_size=4))
def test_a_mixture_is_at_most_its_weight_dearer_than_each(lengths: list[int | None]) -> None:
    weight = Fraction(1, len(lengths))
    found, known = mix((weight, each) for each in lengths), [x for x in lengths if x is not None]
    if not known:
        assert found is None
        return
    assert found is not None
    assert min(known) <= found <= min(known) + micro(weight) + 1


@given(fractions, fractions)
def test_roots_are_exact(number: Fraction, square: Fraction) -> None:
    found = floor_less_root(number, square)
    assert number - found >= 0
    assert (number - found) ** 2 >= square
    assert number - found - 1 < 0 or (number - found - 1) ** 2 < square


@pytest.mark.parametrize(
    "length", [index.basel, index.open_ended, lambda t: index.declared(t, 500)]
)
def test_the_shares_of_all_questions_add_up_to_at_most_one(length: Callable[[int], int]) -> None:
    shares = [math.exp(-length(question) / MILLION) for question in range(1, 1000)]
    assert 0.5 < math.fsum(shares) <= 1


def test_questions_are_counted_from_one() -> None:
    with pytest.raises(ConditionError):
        index.declared(0, 10)


def test_a_code_does_not_depend_on_the_callers_precision() -> None:
    import decimal

    expected = (micro(Fraction(3, 7)), basel_up(17), binomial_up(500, 30), index.open_ended(9))
    with decimal.localcontext() as mine:
        mine.prec = 3
        found = (micro(Fraction(3, 7)), basel_up(17), binomial_up(500, 30), index.open_ended(9))
    assert found == expected


def test_answers_that_cannot_be_are_refused() -> None:
    question = Improvement(20, None, Fraction(1, 2))
    with pytest.raises(StateError, match="answered by a level"):
        Learned().probability(LawState(), Fraction(0), question, None)
    with pytest.raises(StateError, match="shows this level"):
        Learned().probability(LawState(), Fraction(0), Improvement(20, 5), 5)
    with pytest.raises(StateError, match="Public rows"):
        Public(10, 10).probability(LawState(), Fraction(0), Improvement(20, 5), 4)


# A tree: what strategies ask, all answers that there can be, and the code of each history.


@dataclass(frozen=True)
class Node:
    """A history: its length, the books after it, and the levels of the teams on each board."""

    history: tuple[int | None, ...]
    count: Count
    boards: tuple[BoardBook, ...]
    teams: dict[tuple[int, int], TeamBook]
    best: dict[tuple[int, int], int]


LADDER = (Learned(), Public(30, 60))
GUARD = (Never(), Corrections())
PLAIN = (Plain(),)
STEPS = 3
TREES: dict[str, list[Sequence[Law[Any]]]] = {
    "ladder": [LADDER],
    "guard": [GUARD],
    "two boards": [LADDER, GUARD],
    "any and ladder": [PLAIN, (Learned(),)],
}


def weight_of(boards: Sequence[Sequence[Law[Any]]]) -> Fraction:
    return books.count_weight(boards, counted=boards != [GUARD])


def asks(
    boards: Sequence[Sequence[Law[Any]]], node: Node, seed: int
) -> tuple[tuple[int, int], Any, list[int | None]]:
    """What a strategy asks, as any function of the history, and the answers that it may get."""
    codes = [9 if level is None else level for level in node.history]
    chance = np.random.default_rng([seed, *codes])
    board, team = int(chance.integers(len(boards))), int(chance.integers(2))
    key = (board, team)
    if boards[board] is GUARD:
        low, high = (None, 2) if chance.integers(2) else (0, 3)
        question: Any = Agreement(STEPS, low, high)
        levels = [level for side, _ in question.sides for level in side]
        return key, question, [None, *levels]
    if boards[board] is PLAIN:
        return key, Improvement(STEPS, 2), [None, 0, 1]
    best = node.best.get(key, STEPS if seed % 2 else None)
    loss = Fraction(int(chance.integers(31)), 30)
    question = Improvement(STEPS, best, loss)
    if best is not None and best < 2:
        return key, None, [None]
    return key, question, [*([] if best is None else [None]), *range(question.alphabet)]


def grow(boards: Sequence[Sequence[Law[Any]]], node: Node, seed: int) -> Iterator[Node]:
    """All histories that are longer by an answer."""
    key, question, answers = asks(boards, node, seed)
    laws = boards[key[0]]
    known = node.teams.get(key, TeamBook.start(laws))
    for level in answers:
        book, team = books.charge(laws, node.boards[key[0]], known, question, level)
        listed = list(node.boards)
        listed[key[0]] = book
        best = node.best if level is None else {**node.best, key: level}
        yield Node(
            (*node.history, level),
            node.count.after(question, level),
            tuple(listed),
            {**node.teams, key: team},
            best,
        )


def generations(name: str, seed: int, questions: int) -> list[list[Node]]:
    """All histories before question 1, 2, ..."""
    boards = TREES[name]
    start = Node((), Count(), tuple(map(BoardBook.start, boards)), {}, {})
    found = [[start]]
    while len(found) < questions:
        found.append([each for node in found[-1] for each in grow(boards, node, seed)])
    return found


def q_of(name: str, node: Node) -> float:
    length = books.code_length(node.count, node.boards, weight_of(TREES[name]))
    return math.exp(-length / MILLION)


def shortest_of(name: str, node: Node) -> float:
    """What it would be if the shortest code could be chosen when the answers are known."""
    laws = [state.length for state in node.boards[0].states]
    counted = [node.count.length] if weight_of(TREES[name]) else []
    known = [length for length in [*laws, *counted] if length is not None]
    return math.exp(-min(known) / MILLION)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("seed", range(2))
def test_a_code_is_a_law_before_every_question(name: str, seed: int) -> None:
    for nodes in generations(name, seed, 5):
        assert math.fsum(q_of(name, node) for node in nodes) <= 1


def test_revisions_are_paid_for_whenever_they_come() -> None:
    """Each number is an answer or a revision, as anybody likes who knows what was said before."""
    question, alone = Improvement(STEPS, 2), [PLAIN]
    nodes = [(Count(), BoardBook.start(PLAIN))]
    for number in range(6):
        shares = [books.code_length(*node_of(node), Fraction(1, 2)) for node in nodes]
        assert math.fsum(math.exp(-share / MILLION) for share in shares) <= 1
        assert {count.numbered for count, _ in nodes} == {number}
        answered = [
            (
                count.after(question, level),
                books.charge(alone[0], book, TeamBook.start(PLAIN), question, level)[0],
            )
            for count, book in nodes
            for level in (None, 0, 1)
        ]
        nodes = [*answered, *((count.revise(), book) for count, book in nodes)]


def node_of(node: tuple[Count, BoardBook]) -> tuple[Count, list[BoardBook]]:
    return node[0], [node[1]]


def test_lost_answers_are_taken_for_any_that_they_may_have_been() -> None:
    count = Count().write_off(2, alphabet=3)
    assert count.numbered == 2
    share = math.exp(-books.code_length(count, [BoardBook.start(PLAIN)], Fraction(1, 2)) / MILLION)
    assert 0.5 < 16 * share <= 1


# What a ledger may not do, with the chance that some question goes wrong, as a part of beta, if an
# analyst asks after each history what fails with just its share.

MISTAKES: dict[str, Callable[[str, int, int, Node], float]] = {
    "answers not charged": lambda name, t, m, node: share_of_index(t, m),
    "the shortest code chosen afterwards": lambda name, t, m, node: (
        share_of_index(t, m) * shortest_of(name, node)
    ),
    "the index left out": lambda name, t, m, node: q_of(name, node),
}


def share_of_index(question: int, limit: int) -> float:
    return math.exp(-index.declared(question, limit) / MILLION)


def chance_of_failure(
    name: str, seed: int, share: Callable[[str, int, int, Node], float], questions: int = 6
) -> float:
    return math.fsum(
        share(name, t, questions, node)
        for t, nodes in enumerate(generations(name, seed, questions), start=1)
        for node in nodes
    )


def right_share(name: str, question: int, limit: int, node: Node) -> float:
    return share_of_index(question, limit) * q_of(name, node)


@pytest.mark.parametrize("name", ["ladder", "guard"])
def test_the_sharpest_analyst_gets_no_more_than_beta(name: str) -> None:
    assert 0.5 < chance_of_failure(name, 1, right_share) <= 1


@pytest.mark.parametrize("name", ["ladder", "guard"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_sharpest_analyst_finds_a_mistake(name: str, mistake: str) -> None:
    assert chance_of_failure(name, 1, MISTAKES[mistake]) > 1


# The same with real rows: fair coins, all labellings of them, and mechanisms as they are.

ROWS = 7
BETA = Fraction(1, 2)
Labels = tuple[int, ...]


@dataclass(frozen=True)
class Asked:
    """A question of a game: its file, its mean's divergence from 1/2, the code before it."""

    file: Labels
    divergence: float
    code: int
    history: tuple[int | None, ...]


Analyst = Callable[[tuple[int | None, ...], int], tuple[str, Labels]]


def reader(history: tuple[int | None, ...], question: int) -> tuple[str, Labels]:
    """New accounts whose first files differ in a row each; the last file has all that they told."""
    if question <= ROWS:
        return str(question), tuple(int(row < question) for row in range(ROWS))
    losses = [0 if level is None else level for level in history]
    learned = (int(after < before) for before, after in pairwise(losses))
    return str(question), tuple(learned)


def asker(history: tuple[int | None, ...], question: int) -> tuple[str, Labels]:
    """One account that listens to nothing, with files that are all different."""
    return "0", tuple(question >> row & 1 for row in range(ROWS))


def game(
    labels: Labels, name: str, raw: dict[str, str], analyst: Analyst, questions: int
) -> list[Asked]:
    mechanism = get(name)
    params = mechanism.parse(raw)
    laws = mechanism.laws(params, ROWS, 0)
    weight = books.count_weight([laws], counted=mechanism.counted)
    count, book, head = Count(), BoardBook.start(laws), mechanism.initial_holdout(params)
    teams: dict[str, tuple[TeamState, TeamBook]] = {}
    history: tuple[int | None, ...] = ()
    asked = []
    for question in range(questions):
        team, file = analyst(history, question)
        known, remembered = teams.get(team, (TeamState(), TeamBook.start(laws)))
        state = State(head, known)
        mean = Mean(sum(a != b for a, b in zip(file, labels, strict=True)), ROWS, 1)
        claim = mean.claimed(Fraction(2, 5))
        code = books.code_length(count, [book], weight)
        kl = ROWS * kl_divergence(mean.units / ROWS, 0.5)
        asked.append(Asked(file, kl, code, history))
        foreseen = mechanism.law_question(params, state, ROWS, claim)
        after, answer = mechanism.step(params, state, Measurement(mean, claim), SteadyNoise())
        level = mechanism.law_answer(answer.kind, answer.level)
        book, memory = books.charge(laws, book, remembered, foreseen, level)
        count, head, teams[team] = count.after(foreseen, level), after.holdout, (after.team, memory)
        history = (*history, level)
    return asked


def failures(
    games: Sequence[Sequence[Asked]], budget: Callable[[int, Asked], int], questions: int
) -> float:
    """The part of all labellings in which some certificate is wrong."""
    wrong = [
        any(asked.divergence > budget(t, asked) / MILLION for t, asked in enumerate(each, start=1))
        for each in games
    ]
    return sum(wrong) / len(wrong)


GAMES: dict[str, tuple[str, dict[str, str], Analyst, int]] = {
    "reader": ("ladder", {"steps": str(ROWS)}, reader, ROWS + 2),
    "asker": (
        "guard",
        {"reference": "claim", "threshold": "0.5", "steps": "10", "team_share": "100"},
        asker,
        12,
    ),
}


def all_games(name: str) -> list[list[Asked]]:
    return [game(labels, *GAMES[name]) for labels in product((0, 1), repeat=ROWS)]


def test_certificates_hold_against_one_who_reads_the_labels_off_the_board() -> None:
    games, questions = all_games("reader"), GAMES["reader"][3]

    def right(t: int, asked: Asked) -> int:
        return books.budget(BETA, index.declared(t, questions), asked.code)

    def uncharged(t: int, asked: Asked) -> int:
        return books.budget(BETA, index.declared(t, questions), 0)

    # Which histories lead to this file at question t: a law that saw it would know.
    leads: dict[tuple[int, Labels], set[tuple[int | None, ...]]] = {}
    for each in games:
        for t, asked in enumerate(each, start=1):
            leads.setdefault((t, asked.file), set()).add(asked.history)

    def seen(t: int, asked: Asked) -> int:
        known = micro(Fraction(1, len(leads[t, asked.file])))
        return books.budget(BETA, index.declared(t, questions), known)

    assert failures(games, right, questions) <= BETA
    assert failures(games, uncharged, questions) > BETA
    assert failures(games, seen, questions) > BETA


def test_certificates_hold_against_one_who_asks_often() -> None:
    beta, questions = Fraction(3, 20), GAMES["asker"][3]
    games = all_games("asker")

    def right(t: int, asked: Asked) -> int:
        return books.budget(beta, index.declared(t, questions), asked.code)

    def unnumbered(t: int, asked: Asked) -> int:
        return books.budget(beta, 0, asked.code)

    assert failures(games, right, questions) <= beta
    assert failures(games, unnumbered, questions) > beta


# What a team may cost, and where it begins.


def test_a_team_is_over_a_cap_by_its_answers_before() -> None:
    laws, question = LADDER, Improvement(20, None, Fraction(1, 4))
    board, team = BoardBook.start(laws), TeamBook.start(laws)
    assert not books.is_over(team, 0)
    board, team = books.charge(laws, board, team, question, 19)
    assert board.states[-1].length == team.spent > 3 * MILLION
    assert books.is_over(team, 3)
    assert not books.is_over(team, 100)
    assert not books.is_over(team, None)


def test_answers_that_were_certain_cost_nothing() -> None:
    board, team = BoardBook.start(GUARD), TeamBook.start(GUARD)
    assert books.charge(GUARD, board, team, None, None) == (board, team)
    assert Count().after(None, None).length == books.count_length(1, 0, 0)


def test_a_correction_rules_out_that_none_is_made_and_the_other_law_goes_on() -> None:
    board, team = BoardBook.start(GUARD), TeamBook.start(GUARD)
    board, _ = books.charge(GUARD, board, team, Agreement(50, 8, None), 6)
    assert board.states[0].length is None
    assert board.length is not None
    assert BoardBook.from_json(json.loads(json.dumps(board.to_json()))) == board


@pytest.mark.parametrize(
    ("guessing", "private", "public", "rung"),
    [("1/2", 1200, 1200, 43), ("1/2", 10_000, 10_000, 47), ("1/20", 100, 100, 0)],
)
def test_a_rung_is_three_standard_errors_better_than_guessing(
    guessing: str, private: int, public: int, rung: int
) -> None:
    loss = Fraction(guessing)
    found = highest_rung(100, loss, private, public)
    assert found == rung
    error = math.sqrt(float(loss * (1 - loss)) * (1 / private + 1 / public))
    assert found <= max(0.0, 100 * (float(loss) - 3 * error))


def test_a_width_is_hoeffdings() -> None:
    assert books.law_width(8 * MILLION, 100) == pytest.approx(0.2)


def test_the_first_question_of_a_holdout_rests_on_nothing_said() -> None:
    assert books.code_length(Count(), [BoardBook.start(GUARD)], Fraction(0)) < 21_000
    assert HoldoutState().asked == Count().numbered
