"""Sessions, the export of one's data, and deleting the account."""

import json
from io import StringIO
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard.errors import Refused
from leaderboard.models import Event, EventKind, Release, Role, Submission, Team, TokenGrant, User
from leaderboard.participate import accounts, campaigns, captains, membership, tokens
from tests.cast import World, make_user
from tests.walking import everything
from tests.web.pages import browser, text

DELETE = "/account/delete/"


def sign_in(name: str, *, confirm: bool = False) -> Client:
    client = browser()
    password = {"password": f"{name}-password"}
    client.post("/account/login/", {"login": name, **password})
    if confirm:
        client.post("/account/reauthenticate/", password)
    return client


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def add_member(world: World, team: Team, user: User) -> None:
    invitation = membership.invite(team=team, user=team.captain)
    membership.join_team(invitation=invitation, user=user, accept_rules=True)


def test_sessions_are_listed_and_all_others_ended_even_unlisted_ones(world: World) -> None:
    client, unlisted, other = sign_in("alice"), browser(world.alice), sign_in("alice")
    assert text(client.get("/account/sessions/")).count("from 127.0.0.1") == 2
    client.post("/account/sessions/")
    assert [is_in(each) for each in (client, unlisted, other)] == [True, False, False]
    assert text(client.get("/account/sessions/")).count("from 127.0.0.1") == 1


def test_a_session_that_has_expired_signs_nobody_in(world: World) -> None:
    client, other = sign_in("alice"), sign_in("alice")
    key = client.cookies["sessionid"].value
    Session.objects.filter(session_key=key).update(expire_date=timezone.now())
    assert [is_in(each) for each in (client, other)] == [False, True]


def test_signing_in_takes_a_new_session(world: World) -> None:
    client = browser()
    client.session["planted"] = "by somebody else"
    client.get("/account/login/")
    before = client.cookies.get("sessionid")
    client.post("/account/login/", {"login": "alice", "password": "alice-password"})
    assert before is None or client.cookies["sessionid"].value != before.value


def test_passwords_that_differ_are_reported_beside_whatever_else_is_wrong(db: None) -> None:
    form = {"username": "erin", "email": "e@example.org", "password1": "x", "password2": "y"}
    said = text(browser().post("/account/signup/", form))
    assert "This is not the same password as above." in said
    assert "too short" in said


def test_the_last_use_of_a_token_is_noted_now_and_then(
    world: World, django_assert_max_num_queries: Any
) -> None:
    client = APIClient(HTTP_AUTHORIZATION=f"Token {tokens.issue(world.alice, days=1).text}")
    assert "not used yet" in text(browser(world.alice).get("/account/"))
    client.get("/api/v1/me/")
    used = TokenGrant.objects.get().last_used_at
    assert used is not None
    with django_assert_max_num_queries(5) as seen:
        client.get("/api/v1/me/")
    assert not [each for each in seen.captured_queries if each["sql"].startswith("UPDATE")]
    assert TokenGrant.objects.get().last_used_at == used
    assert "used" in text(browser(world.alice).get("/account/"))


def test_the_export_holds_what_one_did_and_nothing_of_others(world: World) -> None:
    team = world.join(world.alice, "Blue")
    add_member(world, team, world.bob)
    world.score(team)
    EmailAddress.objects.create(user=world.alice, email="alice@example.org", verified=True)
    token = tokens.issue(world.alice, days=1, name="laptop").text
    client = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
    answer = client.get("/api/v1/me/export/")
    data = answer.json()
    assert data["account"]["username"] == "alice"
    (sent,) = data["submissions"]
    assert (sent["team"], sent["status"], sent["score"]) == ("Blue", "released", "1.00")
    assert data["tokens"][0]["name"] == "laptop"
    assert data["actions"][0]["kind"] == "team_created"
    body = answer.content.decode()
    assert "bob" not in body
    assert world.alice.password not in body
    page = sign_in("alice", confirm=True).get("/account/data.json")
    assert json.loads(page.content).keys() == data.keys()
    printed = StringIO()
    call_command("account", "export", "alice", stdout=printed)
    assert json.loads(printed.getvalue())["submissions"][0]["sha256"] == sent["sha256"]


def test_answers_of_a_team_that_one_left_are_not_in_the_export(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    add_member(world, team, world.bob)
    captains.hand_over(team=team, user=world.alice, name="bob")
    membership.leave(team=team, user=world.alice)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {tokens.issue(world.alice, days=1).text}")
    (sent,) = client.get("/api/v1/me/export/").json()["submissions"]
    assert sent["score"] is None


@pytest.mark.parametrize("path", [DELETE, "/account/data.json"])
def test_data_and_deletion_ask_again_who_it_is(path: str, world: World) -> None:
    assert "/reauthenticate/" in sign_in("alice").get(path)["Location"]


def test_a_deleted_account_leaves_its_entries_and_nothing_that_names_the_person(
    world: World,
) -> None:
    team = world.join(world.alice, "Alice Liddell")
    campaigns.begin(team=team, user=world.alice, name="my-secret-trick")
    world.score(team, message="my secret trick", campaign="my-secret-trick")
    EmailAddress.objects.create(user=world.alice, email="alice@example.org", verified=True)
    SocialAccount.objects.create(user=world.alice, provider="github", uid="7")
    token = tokens.issue(world.alice, days=1).text
    client, other = sign_in("alice", confirm=True), sign_in("alice")
    assert client.post(DELETE, {"username": "bob"}).status_code == 409
    assert is_in(client)
    response = client.post(DELETE, {"username": "alice"}, follow=True)
    assert "Your account is deleted." in text(response)
    assert not is_in(client)
    assert not is_in(other)
    refused = APIClient(HTTP_AUTHORIZATION=f"Token {token}").get("/api/v1/me/")
    assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated")
    assert Release.objects.count() == Submission.objects.count() == 1
    board = text(browser().get(reverse("leaderboard", args=["digits"])))
    assert "deleted user" in board
    stored = str(everything()).lower()
    for trace in ("alice", "liddell", "secret trick", "secret-trick"):
        assert trace not in stored


def test_what_belongs_to_a_person_is_exported_and_forgotten_or_named_here(db: None) -> None:
    """A new table of people goes into `queries.account_data` and `accounts.delete`, then here."""
    tables = {each.related_model._meta.label for each in User._meta.related_objects}
    assert tables == {
        *("leaderboard.Competition", "leaderboard.Organizer", "leaderboard.Preference"),
        *("leaderboard.Membership", "leaderboard.Submission", "leaderboard.Invitee"),
        *("leaderboard.Invitation", "leaderboard.Campaign"),
        *("leaderboard.Notice", "leaderboard.Mailbox", "leaderboard.StagedFile"),
        *("leaderboard.AccountEvent", "account.EmailAddress", "mfa.Authenticator"),
        *("socialaccount.SocialAccount", "usersessions.UserSession", "knox.AuthToken"),
        "admin.LogEntry",  # of operators, who aren't deleted
    }


def test_the_name_of_a_deleted_account_is_free_and_opens_nothing_of_it(world: World) -> None:
    world.score(world.join(world.alice))
    accounts.delete(world.alice)
    again = make_user("alice")
    client = browser(again)
    assert client.get("/c/digits/submissions/").status_code == 403
    assert world.join(again).captain == again


def test_a_team_of_others_gets_its_longest_member_as_captain(world: World) -> None:
    team = world.join(world.alice, "Blue")
    add_member(world, team, world.bob)
    world.score(team)
    accounts.delete(world.alice)
    team.refresh_from_db()
    assert (team.name, team.captain) == ("Blue", world.bob)
    assert Event.objects.filter(kind=EventKind.MEMBER_LEFT).count() == 1
    assert "deleted user" in text(browser(world.bob).get("/c/digits/submissions/1/"))


def test_the_only_owner_of_a_competition_has_to_name_another_first(world: World) -> None:
    client = sign_in("organizer", confirm=True)
    refused = client.post(DELETE, {"username": "organizer"})
    assert refused.status_code == 409
    assert "You are the only owner of Digits." in text(refused)
    world.digits.roles.create(user=world.bob, role=Role.OWNER)
    client.post(DELETE, {"username": "organizer"})
    assert not world.digits.roles.filter(user=world.organizer).exists()
    assert Event.objects.filter(kind=EventKind.ORGANIZER_REMOVED).count() == 1


def test_an_operator_is_not_deleted(world: World) -> None:
    make_user("root", is_superuser=True)
    with pytest.raises(CommandError, match="runs the whole site"):
        call_command("account", "delete", "root")


def test_a_refused_deletion_changes_nothing(world: World) -> None:
    world.digits.roles.create(user=world.bob, role=Role.OWNER)
    world.organizer.refresh_from_db()
    other = make_user("other", is_organizer=True)
    world.digits.roles.filter(user=world.bob).delete()
    world.digits.roles.create(user=other, role=Role.EDITOR)
    before = Event.objects.count()
    with pytest.raises(Refused):
        accounts.delete(world.organizer)
    assert Event.objects.count() == before
    assert User.objects.get(pk=world.organizer.pk).is_active
