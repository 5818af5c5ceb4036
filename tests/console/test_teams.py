"""The tab "Teams": names and marks, which organizers change; the rest of a team is its own."""

import pytest
from django.test import Client

from leaderboard.models import Event, EventKind, Team, User
from tests.cast import World, make_competition, make_user
from tests.console.conftest import SignIn
from tests.console.pages import at, text


def _page(team: Team) -> str:
    return at("team", team.competition, team.uid)


def test_a_team_is_renamed_and_marked(world: World, organizer: Client) -> None:
    team = world.join(world.alice, "Rude words")
    organizer.post(_page(team), {"name": " Team   7 ", "is_verified": "on", "is_baseline": "on"})
    team.refresh_from_db()
    assert (team.name, team.is_verified, team.is_baseline) == ("Team 7", True, True)


def test_each_change_is_audited_with_what_was_there_before(world: World, organizer: Client) -> None:
    team = world.join(world.alice, "Rude words")
    organizer.post(_page(team), {"name": "Team 7"})
    event = Event.objects.get(kind=EventKind.TEAM_RENAMED)
    assert event.data == {"name": "Team 7", "before": {"name": "Rude words"}}
    assert (event.actor, event.subjects) == (world.organizer, {"team": team.uid})


def test_a_name_that_another_team_has_is_refused_beside_the_field(
    world: World, organizer: Client
) -> None:
    team = world.join(world.alice, "One")
    world.join(world.bob, "Two")
    page = text(organizer.post(_page(team), {"name": "TWO"}))
    assert "Another team has this name." in page.split('id="id_name_error"', 1)[1]


def test_a_team_stays_in_its_competition_and_with_its_captain(
    world: World, organizer: Client
) -> None:
    team = world.join(world.alice)
    other = make_competition("other", world.organizer)
    forged = {"name": "One", "competition": str(other.pk), "captain": str(world.bob.pk)}
    organizer.post(_page(team), forged)
    team.refresh_from_db()
    assert (team.name, team.competition, team.captain) == ("One", world.digits, world.alice)


def test_another_competition_s_team_is_not_found_through_one_s_own(
    world: World, rival: User, sign_in: SignIn
) -> None:
    team = world.join(world.alice)
    own = make_competition("mine", rival)
    address = at("team", own, team.uid)
    assert sign_in(rival).get(address).status_code == 404
    assert sign_in(rival).post(address, {"name": "Taken"}).status_code == 404
    team.refresh_from_db()
    assert team.name == "team alice"


def test_a_judge_marks_a_team_and_a_viewer_does_not(
    world: World, rival: User, sign_in: SignIn
) -> None:
    team = world.join(world.alice)
    role = world.digits.roles.create(user=rival, role="viewer")
    shown = text(sign_in(rival).post(_page(team), {"name": "Other"}))
    assert "form-error" in shown
    role.role = "judge"
    role.save()
    assert sign_in(rival).post(_page(team), {"name": "Other"}).status_code == 302


def test_teams_are_found_by_a_part_of_their_name(world: World, organizer: Client) -> None:
    world.join(world.alice, "Green apples")
    world.join(world.bob, "Red pears")
    shown = text(organizer.get(at("teams", world.digits), {"team": "APPLE"}))
    assert "Green apples" in shown
    assert "Red pears" not in shown


def test_a_page_of_the_list_has_fifty_teams(world: World, organizer: Client) -> None:
    for number in range(51):
        world.join(make_user(f"person{number}"), f"Team {number:02}")
    page = at("teams", world.digits)
    assert len(organizer.get(page).context["found"].rows) == 50
    last = organizer.get(page, {"page": "2"}).context["found"].rows
    assert [row.team.name for row in last] == ["Team 50"]


def test_a_team_s_page_shows_its_people_and_its_submissions(
    world: World, organizer: Client
) -> None:
    sent = world.score(world.join(world.alice))
    shown = text(organizer.get(_page(sent.team)))
    assert "alice</li>" in shown or "alice <span" in shown
    assert at("submission", world.digits, sent.pk) in shown


@pytest.mark.parametrize("address", ["", "x" * 32])
def test_a_team_that_there_is_not_is_not_found(
    world: World, organizer: Client, address: str
) -> None:
    assert organizer.get(f"/organize/digits/teams/{address or 'nobody'}/").status_code == 404
