"""The feed of the first places: what releases changed, and nothing of boards that are hidden."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from leaderboard.models import Event, SanctionKind, Visibility
from leaderboard.organize import sanctions
from leaderboard.organize.teams import change_team
from tests.cast import World, make_user, predictions, set_round
from tests.web.pages import browser

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/c/digits/leaderboard.atom"


def entries(path: str = FEED) -> list[Any]:
    content = browser().get(path).content
    return ElementTree.fromstring(content).findall(f"{ATOM}entry")  # noqa: S314  (our own)


def titles() -> list[str]:
    return [each.findtext(f"{ATOM}title") for each in entries()]


def test_new_leaders_and_changes_of_the_first_places_are_fed(world: World) -> None:
    alice, bob = world.join(world.alice, "Red"), world.join(world.bob, "Blue <1>")
    world.score(alice, predictions(range(20)))
    world.score(bob, predictions(range(30)))
    world.score(bob, predictions(range(4, 12)))
    world.score(bob, predictions(range(25)))  # changes no place
    assert [each.partition(" with ")[0] for each in titles()] == [
        "Blue <1> takes the lead",
        "Blue <1> is 2nd",
        "Red takes the lead",
    ]
    ids = [each.findtext(f"{ATOM}id") for each in entries()]
    assert len(set(ids)) == 3
    assert browser(world.organizer).get("/organize/digits/audit/?kind=all").status_code == 200
    world.score(world.join(make_user("carol"), "Green"), predictions())
    assert [each.findtext(f"{ATOM}id") for each in entries()][1:] == ids


def test_baselines_and_teams_that_were_taken_off_are_not_in_it(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    change_team(bob, world.organizer, is_baseline=True, is_verified=False)
    world.score(bob)
    world.score(alice, predictions(range(9)))
    assert len(titles()) == 1
    sanctions.sanction_team(alice, SanctionKind.HIDDEN, "Two accounts.", by=world.organizer)
    assert titles() == []


def test_of_a_board_that_is_hidden_until_the_end_nothing_is_recorded(world: World) -> None:
    set_round(world.digits, is_hidden=True)
    world.score(world.join(world.alice))
    assert not Event.objects.filter(kind="leaders_changed").exists()


def test_nothing_is_fed_while_any_round_hides_its_teams(world: World) -> None:
    world.score(world.join(world.alice))
    assert titles()
    set_round(world.digits, is_hidden=True, team_limit=9, question_limit=900)
    assert not titles()


def test_what_not_everybody_may_see_is_fed_by_a_key(world: World) -> None:
    world.score(world.join(world.alice))
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    assert browser().get(FEED).status_code == 404
    page = browser(world.alice).get("/c/digits/leaderboard/").content.decode()
    key = page.partition(f"{FEED}?key=")[2].partition('"')[0]
    assert len(entries(f"{FEED}?key={key}")) == 1
