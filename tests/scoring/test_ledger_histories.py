"""The union bound, counted out: over every history that a strategy can meet, with a correction and
with lost answers that were written off, the shares of all questions add up to at most beta."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from scoring.guarantees.ledger import ln_anytime_share, ln_beta_of_question
from scoring.mechanisms import books
from scoring.mechanisms.base import HoldoutState, TeamState

STEPS = 2  # a Ladder of three levels
TEAMS = 2
QUESTIONS = 6


@dataclass(frozen=True)
class Game:
    """Outside events by the number of entries before them: the solution is corrected, the last
    backup is made, and the database is restored from it."""

    correction: int = 99
    backup: int = 99
    restore: int = 99
    spare: int = 0  # lost answers that are counted though there were none


@dataclass(frozen=True)
class Place:
    """Where a history has come to: the books, and what they are restored from."""

    head: HoldoutState
    teams: tuple[TeamState, ...]
    saved: tuple[HoldoutState, tuple[TeamState, ...]] | None = None


def strategy(seed: int, history: tuple[int, ...]) -> int:
    """Which team asks next: any function of the history."""
    return int(np.random.default_rng([seed, *(answer + 1 for answer in history)]).integers(TEAMS))


def shares(game: Game, seed: int) -> Iterator[tuple[HoldoutState, float]]:
    """The head before each question of each history, and its share as a part of beta."""
    start = Place(HoldoutState(), (TeamState(),) * TEAMS)
    waiting: list[tuple[tuple[int, ...], Place]] = [((), start)]
    while waiting:
        history, place = waiting.pop()
        place = after_events(game, len(history), place)
        head = place.head
        share = ln_beta_of_question(head.asked + 1, head.answered, head.log_alphabets, 0.0)
        yield head, math.exp(share)
        if len(history) + 1 < QUESTIONS:
            team = strategy(seed, history)
            waiting += [
                ((*history, answer), answered(place, team, answer))
                for answer in answers(place.teams[team])
            ]


def after_events(game: Game, entries: int, place: Place) -> Place:
    if entries == game.correction:
        teams = tuple(books.carry_team(team) for team in place.teams)
        place = Place(books.carry_on(place.head), teams, place.saved)
    if entries == game.backup:
        place = replace(place, saved=(place.head, place.teams))
    if entries == game.restore and place.saved is not None:
        head, teams = place.saved
        lost = game.restore - game.backup + game.spare
        lost += game.backup < game.correction <= game.restore
        written_off = tuple(books.write_off_team(team, lost) for team in teams)
        place = Place(books.write_off(head, lost, STEPS + 1), written_off)
    return place


def answers(team: TeamState) -> range:
    """No is -1, a yes is its level: what the Ladder can say to a team."""
    return range(STEPS + 1) if team.best is None else range(-1, team.best)


def answered(place: Place, team: int, answer: int) -> Place:
    before = place.teams[team]
    alphabet = STEPS + 1 if before.best is None else max(before.best, 1)
    head = books.count_question(place.head, yes=answer >= 0, alphabet=alphabet)
    after = books.show_level(before, answer) if answer >= 0 else before
    teams = tuple(after if key == team else each for key, each in enumerate(place.teams))
    return Place(head, teams, place.saved)


GAMES = [
    Game(),
    Game(correction=2),
    Game(correction=5),
    Game(backup=1, restore=3),
    Game(backup=0, restore=5),
    Game(backup=2, restore=5, spare=2),
    Game(correction=1, backup=3, restore=4),
    Game(correction=3, backup=1, restore=4),
    Game(correction=5, backup=1, restore=3),
]


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_shares_of_all_histories_add_up_to_at_most_beta(game: Game, seed: int) -> None:
    assert math.fsum(share for _, share in shares(game, seed)) <= 1


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_each_pair_of_counts_gets_no_more_than_its_own_share(game: Game) -> None:
    found: dict[tuple[int, int], list[float]] = {}
    for head, share in shares(game, seed=0):
        found.setdefault((head.asked + 1, head.answered), []).append(share)
    for (asked, after), given in found.items():
        whole = math.exp(ln_anytime_share(asked) + ln_anytime_share(after + 1))
        assert math.fsum(given) <= whole * (1 + 1e-9)


def test_counting_a_lost_answer_as_a_plain_yes_would_not_do() -> None:
    lost_histories = (STEPS + 1) ** 2  # two first answers of two teams
    plain = books.write_off(HoldoutState(), 2, 0)  # of one value each
    counted = books.write_off(HoldoutState(), 2, STEPS + 1)
    whole = math.exp(ln_anytime_share(3) + ln_anytime_share(3))

    def given(head: HoldoutState) -> float:
        share = ln_beta_of_question(head.asked + 1, head.answered, head.log_alphabets, 0.0)
        return lost_histories * math.exp(share)

    assert given(plain) > whole
    assert given(counted) < whole
