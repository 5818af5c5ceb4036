"""Joining, teams and invitations."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Invitation, Membership, Team, User
from leaderboard.participate import membership
from tests.cast import World, set_round


def _refused(code: str, **call: object) -> Refused:
    function = call.pop("function")
    assert callable(function)
    teams, people = Team.objects.count(), Membership.objects.count()
    with pytest.raises(Refused) as refused:
        function(**call)
    assert refused.value.code == code
    assert (Team.objects.count(), Membership.objects.count()) == (teams, people)
    return refused.value


def _invited(world: World) -> Invitation:
    return membership.invite(team=world.join(world.alice), user=world.alice)


def test_joining_makes_a_team_of_one(world: World) -> None:
    team = world.join(world.alice, "  The   Alices ")
    assert team.name == "The Alices"
    assert team.captain == world.alice
    assert team.memberships.get().rules_version == world.digits.rules_version


def test_the_rules_must_be_accepted(world: World) -> None:
    refused = _refused(
        "invalid",
        function=membership.join,
        competition=world.digits,
        user=world.alice,
        accept_rules=False,
        team_name="A",
    )
    assert refused.fields.keys() == {"accept_rules"}


def test_one_person_is_in_one_team(world: World) -> None:
    world.join(world.alice, "A")
    _refused(
        "already_joined",
        function=membership.join,
        competition=world.digits,
        user=world.alice,
        accept_rules=True,
        team_name="B",
    )


def test_team_names_are_unique_whatever_their_case(world: World) -> None:
    world.join(world.alice, "Rivals")
    _refused(
        "team_name_taken",
        function=membership.join,
        competition=world.digits,
        user=world.bob,
        accept_rules=True,
        team_name="RIVALS",
    )


@pytest.mark.parametrize("name", ["", "   ", "\u202ereversed", "x" * 61, "bell\x07"])
def test_a_team_needs_a_readable_name(world: World, name: str) -> None:
    _refused(
        "invalid",
        function=membership.join,
        competition=world.digits,
        user=world.alice,
        accept_rules=True,
        team_name=name,
    )


def test_nobody_joins_after_the_end(world: World) -> None:
    set_round(world.digits, closes_at=timezone.now() - timedelta(minutes=1))
    _refused(
        "deadline_passed",
        function=membership.join,
        competition=world.digits,
        user=world.alice,
        accept_rules=True,
        team_name="Late",
    )


def test_an_invitation_makes_its_bearer_a_member(world: World) -> None:
    invitation = _invited(world)
    team = membership.join_team(invitation=invitation, user=world.bob, accept_rules=True)
    assert set(team.memberships.values_list("user__username", flat=True)) == {"alice", "bob"}


def test_an_expired_invitation_is_refused(world: World) -> None:
    invitation = _invited(world)
    invitation.expires_at = timezone.now() - timedelta(seconds=1)
    _refused(
        "invitation_expired",
        function=membership.join_team,
        invitation=invitation,
        user=world.bob,
        accept_rules=True,
    )


def test_a_full_team_takes_nobody(world: World) -> None:
    invitation = _invited(world)
    world.digits.team_size = 1
    world.digits.save()
    invitation.refresh_from_db()
    _refused(
        "team_full",
        function=membership.join_team,
        invitation=invitation,
        user=world.bob,
        accept_rules=True,
    )


def test_only_the_captain_changes_the_team(world: World) -> None:
    team = world.join(world.alice)
    _refused("captain_only", function=membership.rename_team, team=team, user=world.bob, name="B")
    _refused("captain_only", function=membership.invite, team=team, user=world.bob)


def test_a_withdrawn_link_is_gone(world: World) -> None:
    invitation = _invited(world)
    membership.withdraw_invitations(team=invitation.team, user=world.alice)
    assert not invitation.team.invitations.exists()


def test_a_user_s_name_and_address_are_unique_whatever_their_case(world: World) -> None:
    for name, email in (("ALICE", "x@example.org"), ("carol", "Alice@Example.org")):
        with pytest.raises(IntegrityError), transaction.atomic():
            User.objects.create_user(name, email, "secret-secret")
