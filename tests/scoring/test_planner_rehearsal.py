"""Rehearsed seasons: what they are made of, and that boards answer them by the ledger's rule."""

from fractions import Fraction

import numpy as np
import pytest

from scoring.guarantees.attacks import ATTACKS, Front, attack
from scoring.guarantees.fields import draw_field, share_separated
from scoring.guarantees.rehearsal import draw_season, half_width, play, sampling_error
from scoring.laws.books import Account
from scoring.ledger import Board, Terms, begin
from scoring.mechanisms import get
from scoring.noise import SteadyNoise

ROWS = 1000


def board(mechanism: str = "guard", public: int = ROWS, **raw: str) -> tuple[Terms, Board]:
    chosen = get(mechanism)
    found = Board("board", chosen, chosen.parse(raw), ROWS, public)
    return begin([(chosen, found.laws)], question_limit=1000, team_limit=20), found


def test_normal_teams_climb_and_their_errors_are_shared() -> None:
    found = draw_season(np.random.default_rng(1), teams=40, files=50, rows=ROWS, public_rows=ROWS)
    assert 0.36 < found.truth[:, 0].mean() < 0.44
    assert 0.2 < found.truth[:, -1].mean() < 0.25
    errors = (found.private - found.truth) / np.sqrt(found.truth * (1 - found.truth) / ROWS)
    within = errors.std(axis=1).mean()
    assert 0.25 < within < 0.4
    assert errors.mean(axis=1).std() > within


def test_a_guard_season_is_confirmed_and_certified() -> None:
    terms, guard = board(steps="100")
    drawn = draw_season(np.random.default_rng(2), teams=4, files=20, rows=ROWS, public_rows=ROWS)
    played = play(terms, guard, drawn, SteadyNoise())
    assert played.corrections == 0
    assert played.shown_error(drawn) < 3
    half = half_width(guard, played.head, 0.25, played.lengths[0])
    assert half is not None
    assert 0.12 < half < 0.18
    assert played.account.count.numbered == 80


def test_an_account_is_gone_on_with() -> None:
    terms, ladder = board("ladder", steps="40")
    drawn = draw_season(np.random.default_rng(2), teams=4, files=20, rows=ROWS, public_rows=ROWS)
    first = play(terms, ladder, drawn, SteadyNoise())
    second = play(terms, ladder, drawn, SteadyNoise(), first.account)
    assert second.account.count.numbered == 160
    assert second.lengths[0] > first.lengths[0]
    assert min(second.spent) > 0


def test_by_team_each_has_an_account() -> None:
    guard = board(steps="100")[1]
    terms = begin([(guard.mechanism, guard.laws)], question_limit=80, team_limit=4, by_team=True)
    drawn = draw_season(np.random.default_rng(2), teams=4, files=20, rows=ROWS, public_rows=ROWS)
    assert len(play(terms, guard, drawn, SteadyNoise()).lengths) == 4


def test_teams_that_claim_shift_their_claims_once_corrected() -> None:
    terms, guard = board(public=0, steps="100", reference="claim", threshold="0.02")
    drawn = draw_season(np.random.default_rng(5), teams=10, files=20, rows=ROWS, public_rows=0)
    played = play(terms, guard, drawn, SteadyNoise())
    assert 0 < played.corrections < 40


def test_a_sampling_error_is_half_of_the_plain_whisker() -> None:
    assert sampling_error(0.25, 2000) == pytest.approx(1.96 * (0.25 * 0.75 / 2000) ** 0.5, rel=0.01)


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_gain_little_from_a_ladder_with_a_rung(name: str) -> None:
    terms, ladder = board("ladder", steps="50", rung="21")
    front = Front(terms, ladder, SteadyNoise(), additive=True)
    done = attack(name, front, 60, np.random.default_rng(3))
    assert done.shown == 0
    assert done.fitted < 0.05
    assert 0 < done.length < 10_000_000


def test_sybils_gain_from_a_whole_grid_and_cost_everybody() -> None:
    terms, ladder = board("ladder", steps="50")
    front = Front(terms, ladder, SteadyNoise(), additive=True)
    done = attack("sybils", front, 60, np.random.default_rng(3))
    assert done.fitted > 0.06
    assert done.length > 100_000_000
    assert front.length > Account().length(Fraction(0))


def test_fields_are_as_good_as_they_should_be_and_more_rows_separate_more() -> None:
    field = draw_field(20_000, 30, 0.25, np.random.default_rng(1))
    assert field.mean() == pytest.approx(0.25, abs=0.02)
    shares = [
        share_separated(rows, 60, 0.25, 0.05, code, np.random.default_rng(1))
        for rows, code in ((1000, 0.0), (4000, 0.0), (4000, 20.0), (4000, 2000.0))
    ]
    assert shares[0] < shares[1]
    assert shares[1] > 0.2
    assert shares[1] > shares[2] > shares[3] == 0
    assert share_separated(4000, 1, 0.25, 0.05, 0, np.random.default_rng(1)) == 0
