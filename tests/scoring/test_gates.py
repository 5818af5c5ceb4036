"""Gates: the bit of each kind, what it rests on, what it promises, and what it costs others."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from scoring import gates, metrics
from scoring.errors import ConditionError, ParameterError
from scoring.gates import Gate
from scoring.laws import VERSION
from scoring.laws.books import COIN, Account, Count
from scoring.laws.exact import MILLION
from scoring.ledger import Terms
from scoring.measurement import Mean
from tests.scoring.ledgers import ROWS, Played, guess

ACCURACY = metrics.get("accuracy")
BETA = Fraction(1, 20)
TERMS = Terms(version=VERSION, gate_limit=8)
LENGTH = gates.gate_length(TERMS, Account(), BETA)


def evidence(wrong: int, known: int | None = None, **more: Any) -> gates.Evidence:
    in_use = None if known is None else Mean(known, 100, 1)
    return gates.Evidence(Mean(wrong, 100, 1), in_use, **more)


@pytest.mark.parametrize(("wrong", "passed"), [(19, True), (20, True), (21, False)])
def test_a_mark_is_passed_by_what_reaches_it(wrong: int, passed: bool) -> None:
    gate = Gate("mark", Fraction(1, 5))
    assert gates.passes(gate, evidence(wrong), LENGTH) is passed


@pytest.mark.parametrize(("wrong", "passed"), [(30, True), (32, True), (33, False)])
def test_a_tolerance_is_kept_by_what_is_not_worse_by_more(wrong: int, passed: bool) -> None:
    gate = Gate("not_worse", Fraction(1, 50))
    assert gates.passes(gate, evidence(wrong, 30), LENGTH) is passed


def test_what_differs_on_more_rows_than_announced_fails() -> None:
    gate = Gate("not_worse", Fraction(1, 50), differing=Fraction(1, 10))
    assert not gates.passes(gate, evidence(10, 30, differs=True), LENGTH)


def test_better_is_passed_by_what_is_surely_better_only() -> None:
    rows = Played().solution
    right, wrong = guess(()), guess(range(ROWS))
    for files, passed in (((right, wrong), True), ((wrong, right), False), ((right, right), False)):
        found = gates.measure(Gate("better"), ACCURACY, {}, rows, *files)
        assert gates.passes(Gate("better"), found, LENGTH) is passed


def test_every_gate_of_a_ledger_rests_on_the_same() -> None:
    account = Account()
    for _ in range(8):
        assert gates.gate_length(TERMS, account, BETA) == LENGTH
        account = gates.charge_gate(account)
    assert gates.count_left(TERMS, account) == 0


def test_the_shares_of_all_gates_are_half_of_beta() -> None:
    # 2^(t-1) histories come before gate t.
    nodes = sum(2**before for before in range(8))
    assert nodes * math.exp(-LENGTH / MILLION) <= float(BETA) / 2


def test_a_gate_costs_boards_a_coin_and_boards_cost_gates_their_code() -> None:
    after = gates.charge_gate(Account())
    assert TERMS.next_length(after, BETA) - TERMS.next_length(Account(), BETA) == COIN
    revised = Account(Count().revise())
    assert gates.gate_length(TERMS, revised, BETA) - LENGTH == revised.count.events


def test_boards_beside_gates_have_the_other_half_of_beta() -> None:
    alone = replace(TERMS, gate_limit=None)
    more = TERMS.next_length(Account(), BETA) - alone.next_length(Account(), BETA)
    assert more == pytest.approx(math.log(2) * MILLION, abs=2)


def test_no_gate_is_asked_where_none_was_declared() -> None:
    with pytest.raises(ConditionError, match="declares its gates"):
        gates.gate_length(replace(TERMS, gate_limit=None), Account(), BETA)


def test_the_setting_of_ease_ml_ci_takes_fewer_rows_than_theirs() -> None:
    setting = Fraction(1, 10_000), Fraction(1, 10)
    needed = gates.rows_needed(32, 0.01, *setting)
    assert needed == 64_209
    gate = Gate("not_worse", Fraction(1, 50), differing=setting[1])
    length = gates.gate_length(Terms(gate_limit=32), Account(), setting[0])
    assert gates.promise(gate, length, needed).high == pytest.approx(0.03, abs=1e-6)
    assert gates.promise(gate, length, needed).high <= 0.03
    assert gates.count_gates(needed, 0.01, *setting) == 32
    assert gates.count_gates(needed - 1, 0.01, *setting) == 31


def test_a_pass_bounds_the_loss_from_above_and_a_fail_from_below() -> None:
    promise = gates.promise(Gate("mark", Fraction(1, 5)), LENGTH, 2000)
    assert promise.low is not None
    assert promise.low < 0.2 < promise.high
    assert gates.promise(Gate("better"), LENGTH, 2000).low is None


def test_an_adaptive_analyst_is_rarely_told_what_is_false() -> None:
    """Coin labels, so that every file's true loss is one half: passes below it are false."""
    chance = np.random.default_rng(7)
    terms, rows, beta = replace(TERMS, gate_limit=6), 60, Fraction(1, 2)
    length = gates.gate_length(terms, Account(), beta)
    marks = [Fraction(loss, rows) for loss in range(rows // 2)]
    telling = [m for m in marks if gates.promise(Gate("mark", m), length, rows).high < 0.5]
    false = 0
    for _ in range(300):
        labels, file = chance.integers(0, 2, rows), chance.integers(0, 2, rows)
        for gate in range(6):
            tried = np.where(chance.random(rows) < 0.3, 1 - file, file)
            # The first gates are for climbing, by marks that promise nothing.
            mark = telling[-1] if gate == 5 else marks[-1 - gate]
            found = gates.Evidence(Mean(int((tried != labels).sum()), rows, 1))
            if gates.passes(Gate("mark", mark), found, length):
                file, false = tried, false + (gate == 5)
    assert false / 300 <= float(beta) / 2


def test_a_share_of_differing_rows_reads_no_label() -> None:
    files = guess(()), guess(range(ROWS // 4))
    assert gates.share_differing(*files) == Fraction(ROWS // 4, ROWS)


@pytest.mark.parametrize(
    ("kind", "bound", "differing", "field"),
    [
        ("beter", 0, 1, "kind"),
        ("mark", 1, 1, "bound"),
        ("better", Fraction(1, 9), 1, "bound"),
        ("not_worse", 0, 0, "differing"),
    ],
)
def test_a_gate_that_cannot_be_asked_names_its_field(
    kind: Any, bound: Fraction, differing: Fraction, field: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        Gate(kind, Fraction(bound), Fraction(differing))
    assert refused.value.field == field


def test_marks_and_tolerances_are_given_as_scores() -> None:
    assert gates.loss_of_mark(ACCURACY, {}, 0.9) == Fraction(1, 10)
    assert gates.loss_of_tolerance(ACCURACY, {}, 0.01) == Fraction(1, 100)
    with pytest.raises(ParameterError, match="no plain mean"):
        gates.loss_of_tolerance(metrics.get("rmse"), {}, 0.01)


def test_a_metric_of_all_rows_together_has_no_gate() -> None:
    with pytest.raises(ParameterError, match="no guarantee"):
        Gate("mark", Fraction(1, 5)).check(metrics.get("roc_auc"))


def test_published_facts_make_the_gate_again() -> None:
    gate = Gate("not_worse", Fraction(1, 100), Fraction(1, 10))
    assert Gate.from_json(gate.to_json()) == gate
    assert Terms.from_json(TERMS.to_json()) == TERMS
    assert "gate_limit" not in replace(TERMS, gate_limit=None).to_json()
    account = gates.charge_gate(Account())
    assert Account.from_json(account.to_json()) == account
