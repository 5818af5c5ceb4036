"""Joining, inviting, renaming: by forms that say what is wrong beside the field."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.models import Competition, Invitation, Membership, Team
from leaderboard.participate import membership
from tests.cast import World
from tests.web.pages import browser, text

ACCEPTED = {"accept_rules": "on"}


def test_joining_makes_a_team_and_leads_to_the_data(world: World) -> None:
    response = browser(world.alice).post(
        "/c/digits/join/", ACCEPTED | {"team_name": "Ridge Runners"}, follow=True
    )
    assert response.redirect_chain == [("/c/digits/data/", 302)]
    assert "Welcome, Ridge Runners" in text(response)
    assert Team.objects.get().captain == world.alice


def test_a_stranger_is_led_through_signing_in(world: World) -> None:
    response = browser().post("/c/digits/join/", ACCEPTED | {"team_name": "X"})
    assert response.status_code == 302
    assert response["Location"] == "/account/login/?next=/c/digits/rules/%23join"
    assert browser(world.alice).get("/c/digits/join/")["Location"] == "/c/digits/rules/#join"


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"team_name": "X"}, 422, "Accept the rules to join."),
        (ACCEPTED, 422, "This field is required."),
        (ACCEPTED | {"team_name": "\u200b"}, 422, "visible characters"),
        (ACCEPTED | {"team_name": "x" * 61}, 422, "60 characters"),
        (ACCEPTED | {"team_name": "TEAM BOB"}, 409, "has this name. Choose another one."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    world: World, fields: dict[str, str], status: int, words: str
) -> None:
    world.join(world.bob)
    response = browser(world.alice).post("/c/digits/join/", fields)
    assert response.status_code == status
    assert words in text(response)
    assert 'aria-invalid="true"' in response.content.decode()
    assert not world.alice.memberships.exists()


def test_one_person_is_in_one_team(world: World) -> None:
    world.join(world.alice)
    response = browser(world.alice).post("/c/digits/join/", ACCEPTED | {"team_name": "Second"})
    assert response.status_code == 409
    assert Team.objects.count() == 1


def test_changed_rules_are_announced_and_accepted_again(world: World) -> None:
    world.join(world.alice)
    Competition.objects.filter(pk=world.digits.pk).update(rules_version=2)
    alice = browser(world.alice)
    assert "rules have changed" in text(alice.get("/c/digits/"))
    response = alice.post("/c/digits/rules/accept/", follow=True)
    assert "rules have changed" not in text(response)
    assert Membership.objects.get().rules_version == 2


def test_only_members_accept_changed_rules(world: World) -> None:
    response = browser(world.bob).post("/c/digits/rules/accept/")
    assert response.status_code == 403
    assert "Join the competition first" in text(response)


def invited(world: World) -> Invitation:
    return membership.invite(team=world.join(world.alice), user=world.alice)


def test_a_captain_makes_a_link_and_a_friend_joins_by_it(world: World) -> None:
    world.join(world.alice)
    alice = browser(world.alice)
    page = alice.post("/c/digits/team/invite/", follow=True).content.decode()
    token = Invitation.objects.get().token
    link = f"/c/digits/join/{token}/"
    assert f"http://testserver{link}" in page
    bob = browser(world.bob)
    assert "team alice" in text(bob.get(link))
    response = bob.post(link, ACCEPTED, follow=True)
    assert "You are now a member of “team alice”" in text(response)
    assert world.bob.memberships.get().team == world.alice.memberships.get().team


def test_an_invitation_needs_the_rules_accepted(world: World) -> None:
    response = browser(world.bob).post(f"/c/digits/join/{invited(world).token}/")
    assert response.status_code == 422
    assert "Accept the rules to join." in text(response)
    assert not world.bob.memberships.exists()


def test_an_expired_invitation_says_so(world: World) -> None:
    invitation = invited(world)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    response = browser(world.bob).post(f"/c/digits/join/{invitation.token}/", ACCEPTED)
    assert response.status_code == 410
    assert "Ask the team for a new one" in text(response)


def test_a_full_team_takes_nobody(world: World) -> None:
    Competition.objects.filter(pk=world.digits.pk).update(team_size=1)
    team = world.join(world.alice)
    link = Invitation.objects.create(
        team=team,
        token="t" * 43,
        created_by=world.alice,
        expires_at=timezone.now() + timedelta(days=1),
    )
    response = browser(world.bob).post(f"/c/digits/join/{link.token}/", ACCEPTED)
    assert response.status_code == 409
    assert "The team is full" in text(browser(world.alice).get("/c/digits/team/"))


def test_withdrawn_links_lead_nowhere(world: World) -> None:
    invitation = invited(world)
    browser(world.alice).post("/c/digits/team/withdraw/")
    assert browser(world.bob).get(f"/c/digits/join/{invitation.token}/").status_code == 404


def test_links_are_shown_to_the_captain_only(world: World) -> None:
    invitation = invited(world)
    membership.join_team(invitation=invitation, user=world.bob, accept_rules=True)
    assert invitation.token in browser(world.alice).get("/c/digits/team/").content.decode()
    assert invitation.token not in browser(world.bob).get("/c/digits/team/").content.decode()


@pytest.mark.parametrize("action", ["invite", "withdraw", "name"])
def test_only_the_captain_changes_the_team(world: World, action: str) -> None:
    membership.join_team(invitation=invited(world), user=world.bob, accept_rules=True)
    response = browser(world.bob).post(f"/c/digits/team/{action}/", {"team_name": "Mine"})
    assert response.status_code == 403
    assert "captain" in text(response)
    assert Team.objects.get().name == "team alice"


@pytest.mark.parametrize("action", ["invite", "withdraw", "name"])
def test_nothing_changes_by_opening_an_address(world: World, action: str) -> None:
    world.join(world.alice)
    shown = browser(world.alice).get(f"/c/digits/team/{action}/")
    assert (shown.status_code, shown["Location"]) == (302, "/c/digits/team/")


def test_a_captain_renames_the_team(world: World) -> None:
    world.join(world.alice)
    response = browser(world.alice).post("/c/digits/team/name/", {"team_name": "New"}, follow=True)
    assert "The team is now called “New”" in text(response)


def test_a_name_that_is_taken_is_refused_beside_the_field(world: World) -> None:
    world.join(world.alice)
    world.join(world.bob)
    response = browser(world.alice).post("/c/digits/team/name/", {"team_name": "Team Bob"})
    assert response.status_code == 409
    assert "has this name. Choose another one." in text(response)
