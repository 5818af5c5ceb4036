"""The guarantee of a board: its figure, the limit, the forecast, and the sentences made of them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from leaderboard import words
from leaderboard.models import Competition, Ledger, Rescore, Team
from leaderboard.organize.revisions import to_score_again
from leaderboard.queries import Guarantee, guarantee
from leaderboard.queries.guarantees import guarantee_after
from scoring.laws.books import Account, Count
from scoring.laws.exact import MILLION
from tests.cast import (
    World,
    make_competition,
    predictions,
    said,
    set_board,
    set_round,
)
from tests.leaderboard.test_limits import begin_with
from tests.snapshots import kept

ROWS, PUBLIC_ROWS = 2_000, 1_000
TOO_MANY = "Too many scores have been given out for a guarantee; these are ordinary scores."


@pytest.fixture
@kept
def played(world: World) -> Competition:
    """A competition with rows enough for a guarantee: 1,000 Public and 1,000 Private ones."""
    fields = {"daily_limit": 100, "mechanism_parameters": {"steps": "50", "confidence": "0.95"}}
    return make_competition("played", world.organizer, rows=ROWS, public=PUBLIC_ROWS, **fields)


def wrong(count: int) -> bytes:
    """Err on so many Public and as many Private rows."""
    rows = [*range(count), *range(PUBLIC_ROWS, PUBLIC_ROWS + count)]
    return predictions(wrong=rows, rows=ROWS)


def play(world: World, team: Team, files: int, first: int = 400) -> None:
    """Send files that improve, but not by a step."""
    for number in range(files):
        world.score(team, wrong(first - number))


def found(competition: Competition, team: Team | None = None) -> Guarantee:
    competition = Competition.objects.get(pk=competition.pk)
    reckoned = guarantee(competition.current_round.board, team)
    assert reckoned is not None
    return reckoned


def half(reckoned: Guarantee) -> float:
    assert reckoned.now is not None
    return reckoned.now


def charge(competition: Competition, answers: int, nats: int) -> None:
    """Write so many answers into the account, as if the board had given them."""
    count = Count(numbered=answers, asked=answers, events=nats * MILLION)
    Ledger.objects.filter(rounds=competition.current_round).update(account=Account(count).to_json())


# --- The figure -----------------------------------------------------------------------------------


def test_before_the_first_answer_a_usual_score_has_a_narrow_guarantee(played: Competition) -> None:
    before = found(played)
    assert half(before) < 0.1
    assert (before.score, before.leads, before.answered, before.expected) == (
        "0.76",
        False,
        0,
        None,
    )


def test_answers_widen_it(world: World, played: Competition) -> None:
    team = world.join(world.alice, competition=played)
    world.score(team, wrong(400))
    narrow = half(found(played))
    play(world, team, 4, first=395)
    assert half(found(played)) > narrow


def test_it_covers_what_the_leading_answer_was_released_with(
    world: World, played: Competition
) -> None:
    release = said(world.score(world.join(world.alice, competition=played), wrong(300)))
    interval = found(played).interval
    assert interval is not None
    assert release.low is not None
    assert release.high is not None
    assert interval.low <= 1 - release.high
    assert interval.high >= 1 - release.low


def test_it_is_that_of_the_score_that_leads(world: World, played: Competition) -> None:
    world.score(world.join(world.alice, competition=played), wrong(100))
    world.score(world.join(world.bob, competition=played), wrong(300))
    leading = found(played)
    assert (leading.score, leading.leads) == ("0.90", True)


def test_behind_a_public_rung_it_is_of_a_score_that_the_board_can_show(world: World) -> None:
    parameters = {"steps": "50", "confidence": "0.95", "rung": "10"}
    fields: dict[str, Any] = {"rows": ROWS, "public": PUBLIC_ROWS}
    made = make_competition("rung", world.organizer, mechanism_parameters=parameters, **fields)
    first = found(made)
    assert first.score == "0.84"
    assert half(first) < 0.1


def test_few_rows_have_none_from_the_start(world: World) -> None:
    parameters = {"steps": "8", "confidence": "0.95"}
    fields: dict[str, Any] = {"mechanism_parameters": parameters}
    rare = make_competition("rare", world.organizer, rows=16, public=8, **fields)
    none = found(rare)
    assert (none.now, none.text, none.fits) == (None, "", False)


def test_too_many_answers_end_it(played: Competition) -> None:
    charge(played, answers=1_000, nats=1_000)
    none = found(played)
    assert (none.now, none.fits) == (None, True)


def test_a_set_function_has_none(played: Competition) -> None:
    assert guarantee(set_board(played, metric="f1")) is None


def test_a_board_without_scores_has_none(world: World) -> None:
    mark = {"mark": "0.5", "questions": "100", "budget": "7", "team_share": "2"}
    made = make_competition(
        "marks", world.organizer, mechanism="sparse_validate", mechanism_parameters=mark
    )
    assert guarantee(made.current_round.board) is None


def test_a_draft_has_none(played: Competition) -> None:
    set_round(played, ledger=None)
    assert guarantee(Competition.objects.get(pk=played.pk).current_round.board) is None


# --- The limit ------------------------------------------------------------------------------------


def test_it_tells_how_much_of_the_limit_is_used(world: World, played: Competition) -> None:
    begin_with(played, question_limit=4)
    world.score(world.join(world.alice, competition=played), wrong(300))
    now = found(played)
    assert (now.answered, now.limit, now.used, now.is_full) == (1, 4, 0.25, False)


def test_at_the_limit_it_is_full_and_no_wider_than_by_its_last_answer_s_index(
    world: World, played: Competition
) -> None:
    begin_with(played, question_limit=2)
    team = world.join(world.alice, competition=played)
    world.score(team, wrong(300))
    before = half(found(played))
    world.score(team, wrong(299))
    full = found(played)
    assert (full.is_full, full.expected, full.at_end) == (True, None, None)
    assert before <= half(full) < before * 1.1


def test_a_repeated_file_is_no_question(world: World, played: Competition) -> None:
    team = world.join(world.alice, competition=played)
    world.score(team, wrong(300))
    before = found(played)
    world.score(team, wrong(300))
    assert found(played) == before


# --- The end --------------------------------------------------------------------------------------


def test_nobody_knows_the_pace_of_a_few_questions(played: Competition) -> None:
    charge(played, answers=9, nats=20)
    assert found(played).at_end is None


def test_at_the_end_it_is_no_narrower_than_now(played: Competition) -> None:
    charge(played, answers=12, nats=20)
    set_round(played, closes_at=timezone.now() + timedelta(days=1))
    now = found(played)
    assert now.expected is not None
    assert now.expected > now.answered == 12
    assert now.at_end is not None
    assert now.at_end > half(now)


def test_the_pace_is_that_of_the_round_so_far(played: Competition) -> None:
    charge(played, answers=12, nats=20)
    now = timezone.now()
    set_round(played, opens_at=now - timedelta(days=1), closes_at=now + timedelta(days=2))
    assert found(played).expected in (35, 36)


def test_no_more_questions_are_expected_than_the_limit(played: Competition) -> None:
    begin_with(played, question_limit=20)
    charge(played, answers=12, nats=20)
    assert found(played).expected == 20


def test_a_ledger_without_limit_and_end_has_no_forecast(played: Competition) -> None:
    set_round(played, closes_at=None)
    charge(played, answers=12, nats=20)
    assert (found(played).expected, found(played).at_end) == (None, None)


def test_after_the_end_there_is_none_to_come(played: Competition) -> None:
    charge(played, answers=12, nats=20)
    set_round(played, closes_at=timezone.now() - timedelta(hours=1))
    assert found(played).expected is None


# --- A revision -----------------------------------------------------------------------------------


def test_files_scored_again_widen_it_further(world: World, played: Competition) -> None:
    play(world, world.join(world.alice, competition=played), 6)
    round = Competition.objects.get(pk=played.pk).current_round
    now, *sizes = (
        found(played).now,
        *(
            guarantee_after(round.board, to_score_again(round, choice))
            for choice in (Rescore.NONE, Rescore.BEST, Rescore.ALL)
        ),
    )
    known = [each for each in (now, *sizes) if each is not None]
    assert len(known) == 4
    assert known == sorted(set(known))


# --- Boards that are hidden until the end ---------------------------------------------------------


@pytest.fixture
def hidden(world: World, played: Competition) -> Competition:
    begin_with(played, question_limit=60, team_limit=3, is_hidden=True)
    return played


def test_a_hidden_board_has_each_team_s_own(world: World, hidden: Competition) -> None:
    alice = world.join(world.alice, competition=hidden)
    bob = world.join(world.bob, competition=hidden)
    world.score(alice, wrong(100))
    own = found(hidden, alice)
    assert (own.score, own.leads, own.answered, own.limit) == ("0.90", True, 1, 20)
    for other in (bob, None):
        assert (found(hidden, other).leads, found(hidden, other).answered) == (False, 0)


def test_the_assumption_stands_beside_a_hidden_board_s_figure(
    world: World, hidden: Competition
) -> None:
    assert words.board_guarantee(found(hidden)).endswith(
        "The guarantee holds if teams don't share answers."
    )


# --- In words -------------------------------------------------------------------------------------


def test_a_good_one_in_words(world: World, played: Competition) -> None:
    world.score(world.join(world.alice, competition=played), wrong(300))
    good = replace(found(played), confidence=0.95)
    assert good.interval is not None
    low, high = good.interval.outward(3)
    assert words.board_guarantee(good) == (
        f"The leading score is known to {good.text}, however often teams have submitted: "
        f"its expected value is between {low} and {high} (95 % confidence)."
    )


def test_a_used_up_one_in_words(world: World, played: Competition) -> None:
    full = replace(found(played), answered=6_000, limit=6_000, interval=None)
    assert words.board_guarantee(full).startswith(
        "The limit is reached: no more files get an answer. They are still kept, "
        "and the finals score them."
    )


@pytest.mark.parametrize(
    ("fits", "has_final_rows", "sentence"),
    [
        (True, True, f"{TOO_MANY} The finals use fresh rows."),
        (True, False, TOO_MANY),
        (False, False, "These rows are too few for a guarantee; these are ordinary scores."),
    ],
)
def test_none_in_words(
    fits: bool, has_final_rows: bool, sentence: str, played: Competition
) -> None:
    none = replace(found(played), interval=None, fits=fits, has_final_rows=has_final_rows)
    assert words.board_guarantee(none) == sentence


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"answered": 2_310, "limit": 6_000, "expected": 4_000, "at_end": 0.103},
         "2,310 of 6,000 questions answered. About ±0.11 at the end at this pace."),
        ({"answered": 2_310, "limit": 6_000, "expected": 4_000},
         "2,310 of 6,000 questions answered. No guarantee at the end at this pace."),
        ({"answered": 1}, "1 question answered; there is no limit."),
        ({"answered": 3, "limit": 20, "by_team": True},
         "3 of 20 questions of a team answered."),
    ],
)  # fmt: skip
def test_the_questions_in_words(fields: dict[str, Any], line: str, played: Competition) -> None:
    assert words.questions(replace(found(played), **fields)) == line
