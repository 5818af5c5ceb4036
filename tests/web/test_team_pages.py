"""The pages of teams and people: who sees them, and what a team can do about itself there."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from leaderboard.models import Competition, Invitation, Membership, Team, User
from leaderboard.organize import sanctions
from leaderboard.participate import membership
from leaderboard.tasks import send_invitations
from tests import ending
from tests.cast import World, make_user, predictions


def as_(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, path
    return str(response.content.decode())


@pytest.fixture
def pair(world: World) -> tuple[Team, Team]:
    """The teams of alice and bob, with a scored file each."""
    teams = world.join(world.alice, "The A"), world.join(world.bob, "The B")
    for team, wrong in zip(teams, ([10, 11, 12], [20]), strict=True):
        world.score(team, predictions(wrong))
    return teams


def test_a_team_s_page_has_its_place_its_members_and_its_best_scores(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    page = text(client, f"/t/{pair[0].uid}/")
    assert re.search(r"<strong>2</strong> <span[^>]*>of 2", page)
    assert 'href="/u/alice/"' in page
    assert "Best score over time" in page
    assert f'href="/t/{pair[0].uid}/"' in text(client, "/c/digits/leaderboard/")
    membership.rename_team(team=pair[0], user=world.alice, name="Another name")
    assert "Another name" in text(client, f"/t/{pair[0].uid}/")


def test_final_places_stand_on_both_pages(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    ending.reveal(world.digits)
    assert "final board" in text(client, f"/t/{pair[1].uid}/")
    assert "<strong>1st</strong> of 2" in text(client, "/u/bob/")


def test_a_hidden_person_is_answered_like_a_name_that_was_never_given(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    as_(world.alice).post("/account/page/", {"show": "no"})
    hidden, never = (client.get(f"/u/{name}/") for name in ("alice", "never"))
    assert hidden.status_code == never.status_code == 404
    assert hidden.content == never.content
    members = text(client, f"/t/{pair[0].uid}/")
    assert "alice" in members
    assert "/u/alice/" not in members


def test_who_takes_part_under_an_alias_is_named_to_organizers_alone(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    world.digits.invitees.create(email="a@uni.example", alias="The A", user=world.alice)
    page = text(client, f"/t/{pair[0].uid}/")
    assert "alice" not in page
    assert "under the team’s name" in page
    assert "The A" not in text(client, "/u/alice/")
    assert "alice" in text(as_(world.organizer), f"/t/{pair[0].uid}/")
    assert "The A" in text(as_(world.organizer), "/u/alice/")


def test_what_one_may_not_know_of_is_on_no_page(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    sanctions.sanction_team(pair[0], "hidden", "Why.", by=world.organizer)
    assert text(client, f"/t/{pair[0].uid}/", 404) == text(client, f"/t/{'0' * 32}/", 404)
    assert "The A" not in text(client, "/u/alice/")
    Competition.objects.update(visibility="invited")
    text(client, f"/t/{pair[1].uid}/", 404)
    assert "The B" not in text(client, "/u/bob/")
    assert "The B" in text(as_(world.bob), "/u/bob/")


def test_a_merged_team_s_address_leads_to_what_it_is_a_part_of(
    client: Client, world: World, pair: tuple[Team, Team]
) -> None:
    membership.merge(team=pair[0], into=pair[1], by=world.organizer)
    assert client.get(f"/t/{pair[0].uid}/")["Location"] == f"/t/{pair[1].uid}/"
    assert "includes what was “The A”" in text(client, f"/t/{pair[1].uid}/")


def test_a_stranger_sees_team_and_competition_before_signing_in(
    client: Client, world: World
) -> None:
    link = membership.invite(team=world.join(world.alice, "The A"), user=world.alice)
    page = text(client, f"/c/digits/join/{link.token}/")
    assert "alice invites you to the team" in page
    assert "The A" in page
    assert f"/account/signup/?next=/c/digits/join/{link.token}/" in page
    Invitation.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert "This invitation has expired" in text(client, f"/c/digits/join/{link.token}/")


def test_a_mailed_invitation_is_for_one_person(world: World) -> None:
    world.join(world.alice, "The A")
    as_(world.alice).post("/c/digits/team/invite/", {"email": "carol@uni.example"})
    send_invitations(competition_id=world.digits.pk)
    (sent,) = mail.outbox
    path = re.findall(r"/c/digits/join/\S+", str(sent.body))[0]
    assert sent.to == ["carol@uni.example"]
    assert "alice invites you to the team “The A”" in sent.body
    carol = as_(make_user("carol"))
    assert carol.post(path, {"accept_rules": "on"}).status_code == 302
    answer = as_(world.bob).post(path, {"accept_rules": "on"})
    assert answer.status_code == 409
    assert "Somebody has taken this invitation" in answer.content.decode()


@pytest.mark.parametrize("offer", ["Invite others", "Merge with another team"])
def test_what_the_deadline_ends_is_offered_until_then(
    world: World, pair: tuple[Team, Team], client: Client, offer: str
) -> None:
    client.force_login(world.alice)
    assert offer in text(client, "/c/digits/team/")
    ending.close(world.digits)
    assert offer not in text(client, "/c/digits/team/")


def test_two_captains_merge_their_teams(world: World, pair: tuple[Team, Team]) -> None:
    """What it does is said before, to the one that asks and to the one that accepts."""
    alice, bob = as_(world.alice), as_(world.bob)
    asking = f"/c/digits/team/merge/{pair[1].uid}/"
    assert "It can’t be undone" in text(alice, asking)
    alice.post(asking)
    answering = f"/c/digits/team/merge/{pair[0].uid}/"
    assert answering in text(bob, "/c/digits/team/")
    assert "Take in “The A”?" in text(bob, answering)
    bob.post(f"{answering}accept/")
    pair[0].refresh_from_db()
    assert pair[0].merged_into == pair[1]
    assert Membership.objects.get(user=world.alice).team == pair[1]


def test_a_captain_hands_over_and_removes_after_reading_what_follows(world: World) -> None:
    team = world.join(world.alice, "The A")
    link = membership.invite(team=team, user=world.alice)
    membership.join_team(invitation=link, user=world.bob, accept_rules=True)
    alice, bob = as_(world.alice), as_(world.bob)
    assert "who is removed can join another" in text(alice, "/c/digits/team/")
    assert "Hand the captaincy to another member first" in text(alice, "/c/digits/team/")
    alice.post("/c/digits/team/captain/", {"username": "bob"})
    bob.post("/c/digits/team/remove/", {"username": "alice"})
    team.refresh_from_db()
    assert team.captain == world.bob
    assert not Membership.objects.filter(user=world.alice).exists()
    assert bob.post("/c/digits/team/leave/").status_code == 302
    assert not team.memberships.exists()
