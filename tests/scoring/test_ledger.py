"""One question on a ledger: limits, caps, baselines and accounts, by the laws of section 10."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from scoring import mechanisms
from scoring.laws.books import Account, law_width
from scoring.ledger import Board, Standing, Terms, ask, begin, recall
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, State, TeamState
from scoring.noise import SteadyNoise

ROWS = 2000
LADDER = {"steps": "20"}
GUARD = {"errors": "4", "budget": "2", "team_share": "1", "steps": "100"}


def board(name: str = "ladder", uid: str = "b", **parameters: str) -> Board:
    mechanism = mechanisms.get(name)
    given = {"ladder": LADDER, "guard": GUARD}[name] | parameters
    return Board(uid, mechanism, mechanism.parse(given), ROWS, ROWS)


class Game:
    """A ledger with one board, asked by teams."""

    def __init__(self, asked: Board, **limits: Any) -> None:
        self.board, self.terms = asked, begin([(asked.mechanism, asked.laws)], **limits)
        self.holdout = asked.mechanism.initial_holdout(asked.params)
        self.accounts: dict[str, Account] = {}
        self.teams: dict[str, Standing] = {}

    def account(self, team: str) -> Account:
        return self.accounts.get(team if self.terms.by_team else "", Account())

    def ask(self, private: int, public: int, team: str = "t", **how: bool) -> Answer:
        known = self.teams.get(team)
        state = State(self.holdout, known.state.team if known else TeamState())
        before = Standing(state, self.account(team), known.book if known else None)
        means = Measurement(Mean(private, ROWS, 1), Mean(public, ROWS, 1))
        after, answer, self.length = ask(
            self.terms, self.board, before, means, SteadyNoise(), **how
        )
        self.holdout, self.teams[team] = after.state.holdout, after
        self.accounts[team if self.terms.by_team else ""] = after.account
        return answer


def test_the_width_is_that_of_the_length_before_the_answer() -> None:
    game = Game(board(), question_limit=100)
    beta = Fraction(1, 20)
    before = game.terms.next_length(Account(), beta)
    first = game.ask(800, 800)
    assert (game.length, first.width) == (before, law_width(before, ROWS))
    assert game.terms.next_length(game.account("t"), beta) > before


def test_a_question_does_not_see_its_own_answer() -> None:
    improves, stays = Game(board(), question_limit=9), Game(board(), question_limit=9)
    for game in (improves, stays):
        game.ask(800, 800)
    assert improves.ask(400, 800).width == stays.ask(800, 800).width


def test_beyond_its_limit_a_board_says_so_and_nothing_else() -> None:
    game = Game(board(), question_limit=2)
    game.ask(800, 800)
    game.ask(700, 700)
    account = game.account("t")
    answer = game.ask(100, 100)
    assert (answer.kind, game.length, game.account("t")) == ("limit", None, account)
    assert answer.level == game.teams["t"].state.team.last


def test_what_is_scored_again_is_paid_from_the_reserve() -> None:
    game = Game(board(), question_limit=1)
    game.ask(800, 800)
    within = game.length
    answer = game.ask(100, 100, again=True)
    assert answer.kind == "improved"
    assert (game.length or 0) > (within or 0) + 2_000_000


def test_a_ledger_without_an_end_pays_for_each_further_question() -> None:
    endless, declared = Game(board()), Game(board(), question_limit=6000)
    account = replace(Account(), count=replace(Account().count, numbered=5999, asked=5999))
    beta = Fraction(1, 20)
    assert endless.terms.next_length(account, beta) > declared.terms.next_length(account, beta)


def test_a_team_that_has_cost_its_nats_is_exhausted_and_others_are_not() -> None:
    game = Game(board(), question_limit=100, nats_limit=1)
    kinds = [game.ask(private, 1000).kind for private in (1900, 1500, 1100, 700)]
    assert kinds[-1] == "exhausted"
    assert game.length is None
    assert game.ask(1000, 1000, team="u").kind == "improved"


def test_baselines_are_entries_and_take_nothing_from_the_budget() -> None:
    game = Game(board("guard"), question_limit=100)
    for _ in range(3):
        assert game.ask(1800, 200, team="baseline", is_baseline=True).kind == "corrected"
    assert game.holdout.budget_left == 2
    assert game.account("t").count.numbered == 3
    assert game.ask(1800, 200).kind == "corrected"
    assert game.holdout.budget_left == 1


def test_an_exhausted_team_s_question_takes_no_number() -> None:
    game = Game(board("guard"), question_limit=100)
    game.ask(1800, 200)
    numbered = game.account("t").count.numbered
    assert game.ask(1800, 100).kind == "exhausted"
    assert game.account("t").count.numbered == numbered


def test_a_hidden_board_counts_each_team_by_itself() -> None:
    game = Game(board(), question_limit=20, team_limit=4, by_team=True)
    for private in (900, 700, 500, 300, 100):
        game.ask(private, private, team="eager")
    assert game.ask(50, 50, team="eager").kind == "limit"
    first = game.ask(900, 900, team="new")
    alone = Terms(version=game.terms.version, weight=game.terms.weight, question_limit=5)
    length = alone.next_length(Account(), Fraction(1, 20) / 4)
    assert first.width == law_width(length, ROWS)


def test_a_stored_answer_places_a_team_on_a_later_board() -> None:
    state = State(board().mechanism.initial_holdout(board().params), TeamState())
    assert recall(state, board(), "improved", 7).team.best == 7
    assert recall(state, board(), "not_improved", 7) == state
    known = replace(state, team=TeamState(best=3, last=3))
    assert recall(known, board(), "improved", 7) == known


def test_terms_are_read_as_they_were_published() -> None:
    terms = Game(board(), question_limit=9, team_limit=3, nats_limit=5, by_team=True).terms
    assert Terms.from_json(terms.to_json()) == terms


@pytest.mark.parametrize(
    "change",
    [{"law": "section11/1"}, {"weight": "1"}, {"question_limit": 0}, {"by_team": 1}, {"more": 1}],
)
def test_impossible_terms_are_refused(change: dict[str, object]) -> None:
    facts = Game(board()).terms.to_json() | change
    with pytest.raises(ValueError, match=r"laws|limit|weight"):
        Terms.from_json(facts)


def test_an_account_is_read_as_it_was_stored() -> None:
    game = Game(board("guard"), question_limit=100)
    game.ask(1800, 200)
    game.ask(400, 420)
    account = game.account("t").revise().write_off(2, 21)
    assert Account.from_json(account.to_json()) == account
