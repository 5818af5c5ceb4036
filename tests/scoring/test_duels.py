"""Duels: the rule that asks them, the law that charges them, and what a yes takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from research.experiments import duels as experiment
from scoring import metrics
from scoring.duels import (
    BOOK,
    Comparison,
    Duel,
    Lead,
    Leads,
    are_asked,
    charge_duel,
    compare,
    duel_length,
    form_of,
    is_surely_better,
)
from scoring.guarantees.paired import duel_threshold, p_betting, p_binomial
from scoring.laws import VERSION
from scoring.laws.books import Account, BoardBook, Count, TeamBook, charge
from scoring.laws.exact import MILLION
from scoring.laws.laws import Disclosure, Plain
from scoring.ledger import Terms
from scoring.predictions import Column, Schema
from tests.scoring.ledgers import PUBLIC, ROWS, SCHEMA, Played, guess

ACCURACY = metrics.get("accuracy")
PRIVATE = ROWS - PUBLIC
TERMS = Terms(version=VERSION, question_limit=6000)
BETA = Fraction(1, 20)


def lead(number: int, level: int, team: str, board: str = "b", loss: str = "8/20") -> Lead:
    return Lead(number, board, level, team, f"tag {number}", loss)


def due(*leads: Lead) -> list[tuple[int, int]]:
    """All duels that follow, one after the other."""
    found = Leads()
    for each in leads:
        found.note(each)
    asked: dict[tuple[str, str], tuple[int, int]] = {}
    while (duel := found.due(asked)) is not None:
        asked[duel.key] = duel.better.number, duel.worse.number
    return list(asked.values())


# --- The rule -------------------------------------------------------------------------------------


def test_each_lead_is_compared_with_the_last_one_of_another_team() -> None:
    files = (lead(1, 9, "x"), lead(2, 8, "x"), lead(3, 7, "y"), lead(4, 6, "y"), lead(5, 5, "x"))
    assert due(*files) == [(3, 2), (4, 2), (5, 4)]


def test_ties_and_worse_files_take_no_lead() -> None:
    assert due(lead(1, 9, "x"), lead(2, 9, "y"), lead(3, 10, "y")) == []


def test_boards_have_leaders_of_their_own_and_the_oldest_duel_comes_first() -> None:
    files = (lead(1, 9, "x"), lead(2, 9, "x", "c"), lead(3, 5, "y", "c"), lead(4, 8, "y"))
    assert due(*files) == [(3, 2), (4, 1)]


def test_the_same_predictions_are_compared_once() -> None:
    again = replace(lead(4, 7, "y", "c"), tag="tag 2")
    before = replace(lead(3, 9, "x", "c"), tag="tag 1")
    assert due(lead(1, 9, "x"), lead(2, 7, "y"), before, again) == [(2, 1)]


def test_teams_that_became_one_are_not_compared() -> None:
    leads = Leads()
    for each in (lead(1, 9, "z"), lead(2, 8, "x"), lead(3, 7, "y")):
        leads.note(each)
    leads.merge("x", "y")
    first = leads.due(())
    assert first is not None
    assert (first.better.number, first.worse.number) == (2, 1)
    second = leads.due({first.key})
    assert second is not None
    assert (second.better.number, second.worse.number) == (3, 1)


@pytest.mark.parametrize(
    ("terms", "asked"),
    [
        (TERMS, True),
        (replace(TERMS, question_limit=None), True),
        (replace(TERMS, question_limit=1), False),
        (replace(TERMS, by_team=True, team_limit=3), False),
        (Terms(), False),
    ],
)
def test_ledgers_that_are_full_or_by_team_ask_none(terms: Terms, asked: bool) -> None:
    assert are_asked(terms, Account(Count(numbered=1))) is asked


def test_the_context_is_how_far_apart_the_public_rows_put_them() -> None:
    better, worse = lead(2, 1, "y", loss="200/2000"), lead(1, 2, "x", loss="240/2000")
    assert Duel(better, worse).context(2000, 2000) == 3  # .02 is 1.95 standard errors
    assert Duel(better, better).context(2000, 2000) == 0
    assert Duel(worse, better).context(2000, 2000) < 0


# --- The test -------------------------------------------------------------------------------------


def test_two_classes_are_compared_by_the_binomial_test() -> None:
    played = Played("guard")
    p = compare(ACCURACY, {}, played.solution, guess(range(20, 25)), guess(range(24, 60))).p
    assert p == pytest.approx(p_binomial(39, 35), rel=1e-3)
    assert p >= p_binomial(39, 35)


def test_weighted_rows_are_compared_by_betting() -> None:
    weights = np.where(np.arange(ROWS) < 60, 1.0, 2.0)
    played = Played("guard", weights=weights)
    p = compare(ACCURACY, {}, played.solution, guess(()), guess(range(50, 80))).p
    differences = [*np.ones(10), *np.full(20, 2.0)]
    assert p == pytest.approx(p_betting(differences, scale=2.0), rel=1e-3)


def test_weights_that_are_all_alike_change_nothing() -> None:
    plain, alike = Played("guard"), Played("guard", weights=np.full(ROWS, 3.0))
    files = guess(()), guess(range(50, 80))
    found = [compare(ACCURACY, {}, each.solution, *files).p for each in (plain, alike)]
    assert found[0] == found[1]


def test_public_rows_have_no_part_in_it() -> None:
    played = Played("guard")
    assert compare(ACCURACY, {}, played.solution, guess(()), guess(range(PUBLIC))).p == 1


def test_the_worse_of_two_files_is_never_better() -> None:
    played = Played("guard")
    assert compare(ACCURACY, {}, played.solution, guess(range(30, 90)), guess(())).p == 1


@pytest.mark.parametrize(
    ("metric", "columns", "is_plain", "form"),
    [
        ("accuracy", SCHEMA.columns, True, "binomial"),
        ("accuracy", SCHEMA.columns, False, "betting"),
        ("accuracy", (Column("label", "label", ("a", "b", "c")),), True, "betting"),
        ("mae", (Column("y", "number"),), True, "betting"),
    ],
)
def test_the_form_is_fixed_by_the_kind_of_loss(
    metric: str, columns: tuple[Column, ...], is_plain: bool, form: str
) -> None:
    found = form_of(metrics.get(metric), Schema("id", columns), is_plain=is_plain)
    assert found == form


def test_a_comparison_is_not_shown() -> None:
    assert "0.25" not in f"{Comparison(0.25)!r} {Comparison(0.25)}"


def test_a_yes_takes_the_rows_of_the_threshold() -> None:
    length = duel_length(TERMS, Account(), BETA)
    threshold = duel_threshold(200, math.exp(-length / MILLION))
    assert threshold is not None
    answers = [is_surely_better(Comparison(p_binomial(200, k)), length) for k in range(201)]
    assert answers == [k >= threshold for k in range(201)]


# --- The charge -----------------------------------------------------------------------------------


def test_a_duel_is_one_sided() -> None:
    ratio = TERMS.next_length(Account(), BETA) - duel_length(TERMS, Account(), BETA)
    assert ratio == pytest.approx(math.log(2) * MILLION, abs=2)


def test_a_bit_costs_what_its_context_made_of_it() -> None:
    account, costs = Account(), []
    for context, better in ((3, True), (3, True), (-1, True)):
        before = account.length(Fraction(0))
        account = charge_duel(account, context, better=better)
        costs.append(math.exp((before - account.length(Fraction(0))) / MILLION))
    assert costs == pytest.approx([1 / 2, 3 / 4, 1 / 2], abs=1e-4)
    assert (account.count.numbered, account.count.asked, account.count.answered) == (3, 3, 3)
    assert Account.from_json(account.to_json()) == account


@dataclass(frozen=True)
class Node:
    """A history of answers and duels: any earlier answer decides what comes next."""

    history: tuple[int, ...]
    account: Account
    team: TeamBook


PLAIN = (Plain(),)


def grow(node: Node, seed: int, *, counted: bool) -> Iterator[Node]:
    chance = np.random.default_rng([seed, *node.history])
    is_duel, context = chance.integers(2), int(chance.integers(2))
    for answer in (0, 1):
        if is_duel:
            account = charge_duel(node.account, context, better=bool(answer))
            if not counted:
                count = replace(node.account.count, numbered=account.count.numbered)
                account = replace(account, count=count)
            yield Node((*node.history, 2 + answer), account, node.team)
            continue
        for level in range(3) if answer else (None,):
            book = node.account.boards.get("b", BoardBook.start(PLAIN))
            book, team = charge(PLAIN, book, node.team, Disclosure(3), level)
            account = Account(
                node.account.count.after(Disclosure(3), level), {**node.account.boards, "b": book}
            )
            yield Node((*node.history, 5 + (level or 0) if answer else 4), account, team)


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 2), Fraction(99, 100)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_with_duels_a_code_is_a_law_before_every_question(weight: Fraction, seed: int) -> None:
    assert max(all_shares(weight, seed, counted=True)) <= 1


def test_duels_that_the_count_leaves_out_would_not_do() -> None:
    assert max(all_shares(Fraction(99, 100), 0, counted=False)) > 1


def all_shares(weight: Fraction, seed: int, *, counted: bool) -> Iterator[float]:
    """What all histories before each question have together."""
    nodes = [Node((), Account(), TeamBook.start(PLAIN))]
    for _ in range(6):
        yield math.fsum(math.exp(-node.account.length(weight) / MILLION) for node in nodes)
        nodes = [each for node in nodes for each in grow(node, seed, counted=counted)]
    assert any(BOOK in node.account.boards for node in nodes)


# --- What it finds --------------------------------------------------------------------------------


def test_a_gap_of_four_points_is_found_in_half_of_the_cases() -> None:
    gaps = experiment.needed_gaps(2000, 0.1, 2000, np.random.default_rng(1))
    assert np.mean(gaps <= 0.04) >= 0.75
    assert np.mean(gaps <= 0.02) <= 0.1


@pytest.mark.parametrize("kind", experiment.EQUAL)
def test_equal_files_are_told_apart_at_most_beta_of_the_time(kind: str) -> None:
    generator, duels = np.random.default_rng(2), 600
    found = [experiment.equal_files(*experiment.EQUAL[kind], generator) for _ in range(duels)]
    assert np.mean(found) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / duels)
    if kind == "coins":  # a test that never says yes would say nothing
        assert np.mean(found) >= 0.01
