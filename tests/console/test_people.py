"""The tab "People", the pages about a team, and the ways in that they open."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from leaderboard.models import Competition, Invitee, Role, Team, User, Visibility
from leaderboard.organize import entry, sanctions
from leaderboard.organize.people import add_organizer
from leaderboard.platform.throttles import JoinCodeThrottle
from tests.cast import World, make_user, predictions, upload
from tests.console.pages import at, text

SignIn = Callable[[User], Client]
CLASS = "name,mail,alias\nAda Lovelace,ada@uni.example,Blue Heron\n"


@pytest.fixture
def viewer(world: World, sign_in: SignIn) -> Client:
    """The browser of somebody who only looks on."""
    user = make_user("viewer", is_organizer=True)
    add_organizer(world.digits, user, Role.VIEWER, by=world.organizer)
    return sign_in(user)


@pytest.fixture
def ada(world: World) -> Invitee:
    return world.digits.invitees.create(
        email="alice@example.org", name="Alice Lidell", alias="Blue Heron"
    )


def rows(response: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text(response))))  # type: ignore[arg-type]  # a response


# --- The list -------------------------------------------------------------------------------------


def test_people_are_invited_and_withdrawn_on_the_page(world: World, organizer: Client) -> None:
    page = organizer.post(
        at("people", world.digits), {"people": "ada@uni.example, bob"}, follow=True
    )
    assert "2 people are invited." in text(page)
    assert "ada@uni.example" in text(page)
    row = world.digits.invitees.get()
    organizer.post(at("invitation-send", world.digits, row.uid))
    organizer.post(at("invitation-withdraw", world.digits, row.uid))
    page = organizer.post(at("account-withdraw", world.digits, world.bob.uid), follow=True)
    assert "The invitation is withdrawn." in text(page)
    assert not world.digits.invitees.exists()
    assert not world.digits.invited.exists()


def test_what_is_wrong_stands_beside_the_field(world: World, organizer: Client) -> None:
    page = organizer.post(at("people", world.digits), {"people": "nobody ada@"})
    assert "ada@: no mail address." in text(page)
    assert "nobody" in text(page)


def test_a_viewer_reads_no_name_and_no_address_and_changes_nothing(
    world: World, viewer: Client, ada: Invitee
) -> None:
    for name in ("people", "people-class-list", "people-joining", "people-exports"):
        shown = text(viewer.get(at(name, world.digits)))
        assert "Lidell" not in shown
        assert "alice@" not in shown
        assert 'type="file"' not in shown
    viewer.post(at("invitation-withdraw", world.digits, ada.uid))
    refused = viewer.post(at("people", world.digits), {"people": "bob"})
    assert "Only somebody who runs this competition" in text(refused)
    assert world.digits.invitees.get() == ada
    assert viewer.get(at("members-csv", world.digits)).status_code == 403


def test_a_viewer_does_not_read_the_join_code(
    world: World, viewer: Client, organizer: Client
) -> None:
    code = entry.renew_join_code(world.digits, by=world.organizer)
    assert code in text(organizer.get(at("people-joining", world.digits)))
    assert code not in text(viewer.get(at("people-joining", world.digits)))


# --- The class list -------------------------------------------------------------------------------


def test_a_class_list_is_previewed_and_then_added(world: World, organizer: Client) -> None:
    file = upload(CLASS.encode(), "class.csv")
    page = organizer.post(at("people-class-list", world.digits), {"file": file})
    assert "1 person would be added." in text(page)
    assert not Invitee.objects.exists()
    form = {"text": CLASS, "send": "on"}
    done = organizer.post(at("people-class-list", world.digits), form, follow=True)
    assert "1 person is on the list now. The mails are on their way." in text(done)
    assert Invitee.objects.get().alias == "Blue Heron"


def test_problems_of_a_class_list_are_shown_by_line_and_nothing_is_added(
    world: World, organizer: Client
) -> None:
    wrong = CLASS + "Ada,ada@uni.example,\n<b>,x,\n"
    file = upload(wrong.encode(), "class.csv")
    page = text(organizer.post(at("people-class-list", world.digits), {"file": file}))
    assert "2 problems" in page
    assert "Line 2 has the same mail address." in page
    assert "Add 1 person" not in page
    again = text(organizer.post(at("people-class-list", world.digits), {"text": wrong}))
    assert "Nobody was added." in again
    assert "Add 1 person" not in again
    assert not Invitee.objects.exists()


# --- Organizers -----------------------------------------------------------------------------------


def test_organizers_are_added_by_name_or_confirmed_address(
    world: World, organizer: Client, rival: User
) -> None:
    page = at("people-organizers", world.digits)
    unconfirmed = organizer.post(page, {"account": rival.email, "role": "judge"})
    assert "no account with this name or confirmed address" in text(unconfirmed)
    EmailAddress.objects.create(user=rival, email=rival.email, verified=True)
    organizer.post(page, {"account": rival.email.upper(), "role": "judge"})
    assert world.digits.roles.get(user=rival).role == Role.JUDGE
    organizer.post(at("organizer-role", world.digits, rival.uid), {"role": "editor"})
    assert world.digits.roles.get(user=rival).role == Role.EDITOR
    organizer.post(at("organizer-remove", world.digits, rival.uid))
    assert not world.digits.roles.filter(user=rival).exists()


def test_who_runs_a_competition_has_the_organizers_role_and_keeps_it(
    world: World, organizer: Client
) -> None:
    page = at("people-organizers", world.digits)
    refused = organizer.post(page, {"account": "alice", "role": "judge"})
    assert "alice: no organizer" in text(refused)
    address = at("organizer-remove", world.digits, world.organizer.uid)
    assert "take the competition from yourself" in text(organizer.post(address, follow=True))


def test_the_last_owner_stays_and_the_page_says_why(world: World, organizer: Client) -> None:
    address = at("organizer-role", world.digits, world.organizer.uid)
    page = organizer.post(address, {"role": "viewer"}, follow=True)
    assert "A competition needs an owner" in text(page)
    assert "Select a valid choice" in text(organizer.post(address, {"role": "x"}, follow=True))


# --- Who may join ---------------------------------------------------------------------------------


@pytest.fixture
def closed(world: World) -> Competition:
    Competition.objects.update(visibility=Visibility.INVITED)
    world.digits.refresh_from_db()
    return world.digits


def test_a_join_code_opens_a_competition_that_strangers_do_not_see(
    closed: Competition, organizer: Client, sign_in: SignIn, world: World
) -> None:
    assert Client().get("/c/digits/join/").status_code == 302
    assert sign_in(world.alice).get("/c/digits/join/").status_code == 404
    page = organizer.post(at("join-code-renew", closed), follow=True)
    closed.refresh_from_db()
    assert closed.join_code in text(page)
    stranger = text(Client().get("/c/digits/join/"))
    assert "Digits" in stranger
    assert "Sign up" in stranger
    assert "Tell the classes apart" not in stranger
    alice = sign_in(world.alice)
    wrong = alice.post("/c/digits/join/", {"code": "ABCDE-FGHJK"})
    assert (wrong.status_code, "not the join code" in text(wrong)) == (422, True)
    right = alice.post("/c/digits/join/", {"code": closed.join_code.lower()})
    assert right["Location"] == "/c/digits/rules/#join"
    done = alice.post("/c/digits/join/", {"accept_rules": "on", "team_name": "A"}, follow=True)
    assert "Welcome, A" in text(done)
    organizer.post(at("join-code-off", closed))
    assert Client().get("/c/digits/join/").status_code == 302


def test_guessing_codes_is_throttled(
    closed: Competition, world: World, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JoinCodeThrottle, "rate", "2/min", raising=False)
    code = entry.renew_join_code(closed, by=world.organizer)
    alice = sign_in(world.alice)
    for _ in range(2):
        assert alice.post("/c/digits/join/", {"code": "guess"}).status_code == 422
    assert alice.post("/c/digits/join/", {"code": code}).status_code == 429
    assert sign_in(world.bob).post("/c/digits/join/", {"code": code}).status_code == 302


def test_domains_are_typed_and_saved(world: World, organizer: Client) -> None:
    page = at("people-joining", world.digits)
    wrong = organizer.post(page, {"domains": "uni.example, *.org"})
    assert "*.org: no domain of mail addresses" in text(wrong)
    organizer.post(page, {"domains": "@uni.example\nlab.example"})
    assert "lab.example\nuni.example" in text(organizer.get(page))
    assert "confirmed mail address at lab.example, uni.example" in text(
        _signed_in(world.alice).get("/c/digits/rules/")
    )


def _signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_an_invited_stranger_reads_what_it_is_about(closed: Competition, ada: Invitee) -> None:
    page = text(Client().get(f"/c/digits/invited/{ada.token}/"))
    assert "Which class is it?" in page
    assert "email=alice%40example.org" in page
    assert Client().get("/c/digits/invited/x/").status_code == 404


def test_the_mailed_link_leads_to_the_rules_and_the_alias_to_the_team(
    closed: Competition, world: World, sign_in: SignIn, ada: Invitee
) -> None:
    address, alice = f"/c/digits/invited/{ada.token}/", sign_in(world.alice)
    refused = sign_in(world.bob).post(address)
    assert (refused.status_code, "another mail address" in text(refused)) == (403, True)
    assert alice.post(address)["Location"] == "/c/digits/rules/#join"
    assert alice.get(address)["Location"] == "/c/digits/rules/#join"
    rules = text(alice.get("/c/digits/rules/"))
    assert "Blue Heron" in rules
    assert 'name="team_name"' not in rules
    alice.post("/c/digits/join/", {"accept_rules": "on"})
    assert Team.objects.get().name == "Blue Heron"


def test_names_and_addresses_stay_with_the_organizers(
    world: World, sign_in: SignIn, ada: Invitee
) -> None:
    Invitee.objects.update(user=world.alice)
    team = world.join(world.alice)
    world.score(team, predictions([10]))
    bob, outside = sign_in(world.bob), Client()
    pages = ("", "leaderboard/", "leaderboard.csv", "ledger/", "ledger.jsonl", "rules/")
    for client in (bob, outside):
        for page in pages:
            shown = text(client.get(f"/c/digits/{page}"))
            assert "Lidell" not in shown
            assert "alice@" not in shown
        for page in ("", "leaderboard/", "teams/"):
            shown = text(client.get(f"/api/v1/competitions/digits/{page}"))
            assert not re.search("Lidell|alice@", shown)


# --- A team ---------------------------------------------------------------------------------------


@pytest.fixture
def team(world: World) -> Team:
    made = world.join(world.alice)
    world.score(made, predictions([10]))
    return made


def test_a_team_is_disqualified_and_reads_why(
    world: World, organizer: Client, team: Team, sign_in: SignIn
) -> None:
    wrong = organizer.post(at("team-sanction", world.digits, team.uid), {"kind": "hidden"})
    assert "This field is required." in text(wrong)
    form = {"kind": "disqualified", "reason": "Two accounts."}
    page = organizer.post(at("team-sanction", world.digits, team.uid), form, follow=True)
    assert "Boards and finals leave it out now." in text(page)
    for shown in ("team/", "submissions/"):
        assert "Two accounts." in text(sign_in(world.alice).get(f"/c/digits/{shown}"))
    board = text(Client().get("/c/digits/leaderboard/"))
    assert "Two accounts." in board
    page = organizer.post(at("team-lift", world.digits, team.uid), follow=True)
    assert "It counts again." in text(page)
    page = organizer.post(at("team-lift", world.digits, team.uid), follow=True)
    assert "nothing to lift" in text(page) or "It counts, as far" in text(page)


def test_a_submission_is_left_out_and_its_page_says_why(
    world: World, organizer: Client, team: Team, sign_in: SignIn
) -> None:
    address = at("entry-sanction", world.digits, team.uid, 1)
    assert "Leave submission 1" in text(organizer.get(address))
    page = organizer.post(address, {"reason": "Hand labels."}, follow=True)
    assert "Left out: Hand labels." in text(page)
    shown = text(organizer.get(at("submission", world.digits, team.submissions.get().pk)))
    assert "Let it count again" in shown
    alice = sign_in(world.alice)
    assert "Hand labels." in text(alice.get("/c/digits/submissions/1/"))
    assert "It doesn’t count:" in text(alice.get("/c/digits/submissions/"))
    organizer.post(at("entry-lift", world.digits, team.uid, 1))
    assert "Hand labels." not in text(alice.get("/c/digits/submissions/1/"))


def test_extra_submissions_are_given_on_the_team_s_page(
    world: World, organizer: Client, team: Team
) -> None:
    address = at("team-quota", world.digits, team.uid)
    assert "nothing to add to" in text(organizer.post(address, {"daily": "5", "total": "5"}))
    organizer.post(address, {"daily": "5", "total": "0"})
    assert "(5 extra)" in text(organizer.get(at("team", world.digits, team.uid)))


def test_a_merger_is_previewed_and_then_made(world: World, organizer: Client, team: Team) -> None:
    into = world.join(world.bob)
    address = at("team-merge", world.digits, team.uid)
    preview = text(organizer.get(address, {"into": into.uid}))
    assert "It can’t be undone." in preview
    page = organizer.post(address, {"into": into.uid}, follow=True)
    assert "is a part of “team bob” now" in text(page)
    assert "More a day" not in text(organizer.get(at("team", world.digits, team.uid)))
    assert organizer.get(at("team-merge", world.digits, into.uid)).status_code == 302


# --- Downloads ------------------------------------------------------------------------------------


def test_members_come_with_names_and_addresses_for_those_who_see_to_people(
    world: World, organizer: Client, ada: Invitee, team: Team
) -> None:
    Invitee.objects.update(user=world.alice, name="=cmd|'/C calc'!A0")
    (row,) = rows(organizer.get(at("members-csv", world.digits)))
    assert (row["username"], row["mail"], row["captain"]) == (
        "alice",
        "alice@example.org",
        "true",
    )
    assert row["name"] == "'=cmd|'/C calc'!A0"


def test_teams_and_submissions_are_listed(
    world: World, organizer: Client, viewer: Client, team: Team
) -> None:
    Team.objects.update(name="-1+1")
    sanctions.sanction_submission(team.submissions.get(), "=why", by=world.organizer)
    for client in (organizer, viewer):
        (row,) = rows(client.get(at("teams-csv", world.digits)))
        assert (row["team"], row["members"], row["submissions"]) == ("'-1+1", "1", "1")
        (row,) = rows(client.get(at("submissions-csv", world.digits)))
        assert (row["submission"], row["status"], row["answer"]) == ("1", "released", "improved")
        assert (row["released_score"], row["left_out"]) == ("0.95", "'=why")


def test_downloads_take_the_same_queries_however_many_rows(
    world: World, organizer: Client, team: Team, django_assert_max_num_queries: object
) -> None:
    for name in "abcde":
        world.score(world.join(make_user(name)), predictions([10]))
    for name in ("teams-csv", "members-csv", "submissions-csv"):
        with django_assert_max_num_queries(12):  # type: ignore[operator]  # pytest-django's
            assert len(rows(organizer.get(at(name, world.digits)))) == 6
