"""What a ledger begins with: whether its board is hidden, how many teams, questions and nats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.models import Competition, Role, Team
from leaderboard.organize.people import add_organizer
from leaderboard.organize.settings import change_settings, create_draft
from leaderboard.organize.teams import change_team
from leaderboard.participate import membership
from tests import ending
from tests.cast import THRESHOLDOUT, World, make_checked, make_competition, make_user, set_round
from tests.web.pages import browser, text

LIMITS: dict[str, Any] = {
    "is_hidden": True,
    "team_limit": 3,
    "question_limit": 300,
    "nats_limit": 40,
}
GUARD = {"threshold": "0.1", "steps": "20", "confidence": "0.95", "team_share": "2"}


@contextmanager
def refused(code: str, words: str = "", *fields: str) -> Iterator[None]:
    """Expect a refusal that says this, and names these fields."""
    with pytest.raises(Refused) as caught:
        yield
    assert caught.value.code == code
    assert words in caught.value.detail
    assert not fields or caught.value.fields.keys() == set(fields)


def draft(world: World, **fields: Any) -> Competition:
    """Make a draft that lacks nothing, with these fields."""
    made = make_competition("sketch", world.organizer)
    organize.return_to_draft(made)
    set_round(made, **fields)
    return Competition.objects.get(pk=made.pk)


def hidden(world: World, **fields: Any) -> Competition:
    """Make an open competition whose board is hidden until the end."""
    return make_competition("secret", world.organizer, **LIMITS | fields)


# --- Settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may"), [(Role.OWNER, True), (Role.EDITOR, True), (Role.JUDGE, False)]
)
def test_who_edits_sets_them_in_a_draft(world: World, role: Role, may: bool) -> None:
    sketch, user = draft(world), make_user("eve", is_organizer=True)
    add_organizer(sketch, user, role, by=world.organizer)
    if may:
        change_settings(sketch, user, **LIMITS)
    else:
        with refused("not_allowed"):
            change_settings(sketch, user, **LIMITS)
    round = Competition.objects.get(pk=sketch.pk).current_round
    assert ({name: getattr(round, name) for name in LIMITS} == LIMITS) is may


@pytest.mark.parametrize("name", LIMITS)
def test_they_are_fixed_from_the_opening_on(world: World, name: str) -> None:
    with refused("invalid", "for good", name):
        change_settings(world.digits, world.organizer, **{name: LIMITS[name]})


def test_they_are_those_of_a_new_draft(world: World) -> None:
    now = timezone.now()
    times: dict[str, Any] = {"opens_at": now, "closes_at": now + timedelta(days=1)}
    made = create_draft(world.organizer, slug="fresh", title="New", **times, **LIMITS)
    assert made.current_round.hides_others
    assert made.current_round.question_limit == 300


def test_without_an_end_nothing_can_be_hidden_until_it(world: World) -> None:
    with refused("invalid", "needs an end", "closes_at"):
        change_settings(draft(world), world.organizer, is_hidden=True, closes_at=None)
    with refused("invalid", "needs an end", "closes_at"):
        change_settings(hidden(world), world.organizer, closes_at=None)


@pytest.mark.parametrize("name", ["team_limit", "question_limit"])
def test_the_checklist_says_what_a_hidden_board_lacks(world: World, name: str) -> None:
    sketch = draft(world, **LIMITS | {name: None})
    line = next(each for each in organize.checklist(sketch) if each.name == "hidden")
    assert not line.passed
    assert "hidden until the end needs" in line.detail
    with refused("checklist_not_green", line.detail):
        organize.open_competition(sketch)


def test_a_board_that_hides_nothing_needs_none_of_them(world: World) -> None:
    sketch = draft(world)
    assert "hidden" not in {each.name for each in organize.checklist(sketch)}
    organize.open_competition(sketch)


def test_a_mechanism_with_one_state_for_all_teams_can_t_be_hidden(world: World) -> None:
    sketch = make_checked("sketch", world.organizer)
    organize.return_to_draft(sketch)
    change_settings(sketch, world.organizer, **LIMITS)
    with refused("checklist_not_green", "would tell of others"):
        organize.open_competition(sketch)
    scoring = organize.Scoring("accuracy", {}, "thresholdout", THRESHOLDOUT)
    with refused("invalid", "", "mechanism"):
        organize.change_scoring(sketch.current_round.board, scoring)


def test_a_hidden_budget_has_the_shares_of_all_teams(world: World) -> None:
    board = draft(world, **LIMITS).current_round.board
    scarce, enough = (
        organize.Scoring("accuracy", {}, "guard", GUARD | {"budget": budget, "reference": "claim"})
        for budget in ("5", "6")
    )
    with refused("invalid", "give at least 6", "mechanism_parameters.budget"):
        organize.change_scoring(board, scarce)
    organize.change_scoring(board, enough)


def test_fewer_teams_than_there_are_can_t_be_set(world: World) -> None:
    for user in (world.alice, world.bob):
        world.join(user)
    organize.return_to_draft(world.digits)
    with refused("invalid", "2 teams already", "team_limit"):
        change_settings(world.digits, world.organizer, team_limit=1)
    change_settings(world.digits, world.organizer, team_limit=2)


def test_a_round_on_the_same_rows_keeps_them(world: World) -> None:
    secret = hidden(world)
    now = timezone.now()
    set_round(secret, closes_at=now - timedelta(hours=1))
    later: dict[str, Any] = {"opens_at": now, "closes_at": now + timedelta(days=1)}
    with refused("invalid", "for good", "team_limit"):
        organize.add_round(secret, by=world.organizer, continues=True, team_limit=9, **later)
    with refused("invalid", "reveal its final scores", "opens_at"):
        organize.add_round(secret, by=world.organizer, **later)
    round = organize.add_round(secret, by=world.organizer, continues=True, **later)
    assert {name: getattr(round, name) for name in LIMITS} == LIMITS


# --- Teams ----------------------------------------------------------------------------------------


def test_no_team_more_than_the_limit_joins(world: World) -> None:
    full = hidden(world, team_limit=2)
    baseline = world.join(world.alice, competition=full)
    change_team(baseline, world.organizer, is_baseline=True)
    world.join(world.bob, competition=full)
    with refused("competition_full", "takes at most 2 teams"):
        world.join(make_user("carol"), competition=full)
    assert Team.objects.filter(competition=full).count() == 2


def test_a_team_that_was_left_before_it_submitted_gives_its_place_back(world: World) -> None:
    full = hidden(world, team_limit=1)
    team = world.join(world.alice, "first", competition=full)
    membership.invite(team=team, user=world.alice)
    membership.leave(team=team, user=world.alice)
    assert not team.invitations.exists()
    world.join(world.bob, competition=full)
    with refused("competition_full"):
        world.join(world.alice, competition=full)


def test_a_full_competition_takes_members_of_its_teams(world: World) -> None:
    full = hidden(world, team_limit=1)
    team = world.join(world.alice, competition=full)
    invitation = membership.invite(team=team, user=world.alice)
    membership.join_team(invitation=invitation, user=world.bob, accept_rules=True)
    assert team.memberships.count() == 2


def test_teams_of_a_hidden_board_are_not_merged(world: World) -> None:
    secret = hidden(world)
    teams = [world.join(user, competition=secret) for user in (world.alice, world.bob)]
    with refused("merge_hidden", "don't share their answers"):
        membership.merge(team=teams[0], into=teams[1], by=world.organizer)


def test_who_left_a_team_with_answers_enters_no_other_on_these_rows(world: World) -> None:
    secret, now = hidden(world), timezone.now()
    team = world.join(world.alice, competition=secret)
    invitation = membership.invite(team=team, user=world.alice)
    membership.join_team(invitation=invitation, user=world.bob, accept_rules=True)
    world.score(team)
    set_round(secret, closes_at=now - timedelta(hours=1))
    later: dict[str, Any] = {
        "opens_at": now - timedelta(minutes=1),
        "closes_at": now + timedelta(days=1),
    }
    organize.add_round(secret, by=world.organizer, continues=True, **later)
    membership.leave(team=Team.objects.get(pk=team.pk), user=world.bob)
    with refused("left_a_team", "nobody may know those of two teams"):
        world.join(world.bob, competition=Competition.objects.get(pk=secret.pk))


# --- What is seen ---------------------------------------------------------------------------------


def test_a_team_sees_its_own_row_and_organizers_see_all(world: World) -> None:
    secret = hidden(world)
    for user in (world.alice, world.bob):
        world.score(world.join(user, competition=secret))
    board = secret.current_round.board
    (mine,) = queries.whole_board(board, world.alice)
    assert (mine.team, mine.rank, mine.entries, mine.apart) == ("team alice", None, 1, True)
    assert [row.rank for row in queries.whole_board(board, world.organizer)] == [1, 1]
    assert list(queries.whole_board(board, make_user("carol"))) == []
    ending.reveal(secret)
    board = Competition.objects.get(pk=secret.pk).current_round.board
    assert [row.rank for row in queries.whole_board(board, world.alice)] == [1, 1]


def test_pages_say_what_the_guarantee_rests_on(world: World) -> None:
    secret = hidden(world)
    world.score(world.join(world.alice, competition=secret))
    promise = "The guarantee holds if teams don’t share answers."
    pages = ("leaderboard", "ledger", "rules", "submissions/1")
    for page in pages:
        assert promise in text(browser(world.alice).get(f"/c/secret/{page}/")), page
    ending.reveal(secret)
    for page in ("leaderboard/released", "ledger", "rules", "submissions/1"):
        assert promise in text(browser(world.alice).get(f"/c/secret/{page}/")), page
