"""Whoever could see what is hidden takes no part, and whoever takes part sees nothing hidden."""

import pytest

from leaderboard.errors import Refused
from leaderboard.models import Role
from leaderboard.organize.creation import create_competition
from leaderboard.organize.people import add_organizer, remove_organizer
from leaderboard.participate import membership
from tests.cast import World, make_user


@pytest.mark.parametrize("role", Role.values)
def test_nobody_with_a_role_joins_a_team(world: World, role: str) -> None:
    rita = make_user("rita", is_organizer=True)
    add_organizer(world.digits, rita, role, world.organizer)
    with pytest.raises(Refused, match="You run this competition"):
        world.join(rita)


def test_a_role_that_was_taken_away_still_counts(world: World) -> None:
    rita = make_user("rita", is_organizer=True)
    add_organizer(world.digits, rita, Role.EDITOR, world.organizer)
    remove_organizer(world.digits, rita, world.organizer)
    with pytest.raises(Refused, match="or did"):
        world.join(rita)


def test_who_made_the_competition_has_held_a_role_in_it(world: World) -> None:
    made = create_competition(
        slug="made", organizer=world.organizer, title="Made", opens_at=world.round.opens_at
    )
    made.roles.all().delete()
    with pytest.raises(Refused, match="or did"):
        membership.join(competition=made, user=world.organizer, accept_rules=True, team_name="Mine")


def test_nobody_with_a_role_follows_an_invitation(world: World) -> None:
    invitation = membership.invite(team=world.join(world.alice), user=world.alice)
    with pytest.raises(Refused, match="You run this competition"):
        membership.join_team(invitation=invitation, user=world.organizer, accept_rules=True)


def test_a_role_in_another_competition_is_no_hindrance(world: World) -> None:
    rita = make_user("rita", is_organizer=True)
    create_competition(slug="own", organizer=rita, title="Own", opens_at=world.round.opens_at)
    assert world.join(rita).captain == rita


def test_nobody_in_a_team_gets_a_role(world: World) -> None:
    rita = make_user("rita", is_organizer=True)
    world.join(rita)
    with pytest.raises(Refused, match="rita is or was in a team"):
        add_organizer(world.digits, rita, Role.VIEWER, world.organizer)


def test_a_team_that_was_left_still_counts(world: World) -> None:
    rita = make_user("rita", is_organizer=True)
    membership.leave(team=world.join(rita), user=rita)
    with pytest.raises(Refused, match="rita is or was in a team"):
        add_organizer(world.digits, rita, Role.JUDGE, world.organizer)


def test_an_operator_joins_no_team(world: World) -> None:
    with pytest.raises(Refused, match="You run this competition"):
        world.join(make_user("operator", is_superuser=True))
