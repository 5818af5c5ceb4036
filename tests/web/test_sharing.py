"""What other sites are given: pictures, badges, frames, lists for search engines."""

import io
from html.parser import HTMLParser

import pytest
from django.conf import LazySettings
from PIL import Image

from leaderboard import queries
from leaderboard.models import User, Visibility
from leaderboard.organize.teams import change_team
from tests import ending
from tests.cast import World, predictions, set_round
from tests.web.pages import browser, text

DIGITS = "/c/digits/"
SHARED = ("board.png", "badge.svg", "embed/")


def _played(world: World) -> None:
    world.score(world.join(world.alice), message="trees")


def test_the_badge_says_the_leading_score_and_how_sure_it_is(world: World) -> None:
    _played(world)
    board = text(browser().get(f"{DIGITS}leaderboard/"))
    badge = browser().get(f"{DIGITS}badge.svg").content.decode()
    said = badge.split("<title>Holdfast: best ")[1].split("</title>")[0]
    score, guarantee = said.split()
    assert guarantee in board
    assert score in board


def test_the_badge_is_of_teams_and_not_of_baselines(world: World) -> None:
    world.score(world.join(world.alice), predictions(range(20)))
    baseline = world.join(world.bob)
    world.score(baseline)
    change_team(baseline, world.organizer, is_baseline=True, is_verified=False)
    badge = browser().get(f"{DIGITS}badge.svg").content.decode()
    assert f"best {_score(world, world.alice)}" in badge
    assert "team bob (baseline)" in text(browser().get(f"{DIGITS}embed/"))


def _score(world: World, user: User) -> str | None:
    row = queries.board_row(world.board, user)
    assert row is not None
    return row.score


def test_a_board_without_scores_has_a_badge(world: World) -> None:
    assert "no scores yet" in browser().get(f"{DIGITS}badge.svg").content.decode()


def test_after_the_end_the_badge_says_the_final_score(world: World) -> None:
    _played(world)
    ending.reveal(ending.score(world.digits))
    assert "Holdfast: final " in browser().get(f"{DIGITS}badge.svg").content.decode()


def test_the_picture_is_of_the_size_that_readers_of_links_ask_for(world: World) -> None:
    _played(world)
    picture = Image.open(io.BytesIO(browser().get(f"{DIGITS}board.png").content))
    assert (picture.format, picture.size) == ("PNG", (1200, 630))


@pytest.mark.parametrize("title", ["A very long title " * 20, "Łódź, 東京, 😀", "", "\u0000"])
def test_any_title_can_be_drawn(world: World, title: str) -> None:
    world.digits.title = title
    world.digits.save()
    assert browser().get(f"{DIGITS}board.png").status_code == 200


@pytest.mark.parametrize("shared", SHARED)
def test_what_was_sent_is_not_sent_again_unless_it_changed(world: World, shared: str) -> None:
    client = browser()
    tag = client.get(DIGITS + shared).headers["ETag"]
    assert client.get(DIGITS + shared, headers={"If-None-Match": tag}).status_code == 304
    _played(world)
    assert client.get(DIGITS + shared, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("shared", SHARED)
def test_members_get_no_more_than_everybody(world: World, shared: str) -> None:
    _played(world)
    mine = browser(world.alice).get(DIGITS + shared).content
    assert mine == browser().get(DIGITS + shared).content
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    assert browser(world.alice).get(DIGITS + shared).status_code == 404


@pytest.mark.parametrize("shared", ["badge.svg", "embed/"])
def test_a_hidden_board_stays_hidden_elsewhere(world: World, shared: str) -> None:
    _played(world)
    set_round(world.digits, is_hidden=True, team_limit=9, question_limit=900)
    assert "idden until the end" in browser().get(DIGITS + shared).content.decode()


def test_only_the_embedded_board_may_stand_in_a_frame(world: World) -> None:
    embedded = browser().get(f"{DIGITS}embed/")
    assert "frame-ancestors *" in embedded.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in embedded.headers
    page = browser().get(f"{DIGITS}leaderboard/")
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Frame-Options"] == "DENY"


class _Told(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.told = dict[str, str | None]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        name = values.get("property") or values.get("name") or values.get("rel")
        if tag in ("meta", "link") and name:
            self.told[name] = values.get("content") or values.get("href")


def test_pages_say_what_readers_of_links_show(world: World, settings: LazySettings) -> None:
    told = _Told(browser().get(f"{DIGITS}leaderboard/?page=1").content.decode()).told
    assert told["canonical"] == f"{settings.SITE_URL}{DIGITS}leaderboard/"
    assert told["og:image"] == f"{settings.SITE_URL}{DIGITS}board.png"
    assert told["og:title"] == "Digits"
    assert told["description"]


def test_private_competitions_are_not_told_to_readers_of_links(world: World) -> None:
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    world.join(world.alice)
    page = browser(world.alice).get(DIGITS).content.decode()
    assert "og:image" not in page
    assert DIGITS not in browser().get("/sitemap.xml").content.decode()


def test_search_engines_are_led_to_public_pages(world: World, settings: LazySettings) -> None:
    site_map = browser().get("/sitemap.xml").content.decode()
    assert f"<loc>{settings.SITE_URL}{DIGITS}leaderboard/</loc>" in site_map
    assert f"Sitemap: {settings.SITE_URL}/sitemap.xml" in text(browser().get("/robots.txt"))


def test_security_txt_names_the_operators_contact(settings: LazySettings, db: None) -> None:
    settings.SECURITY_CONTACT = ["mailto:security@example.org"]
    said = browser().get("/.well-known/security.txt").content.decode()
    assert "Contact: mailto:security@example.org\n" in said
    assert "\nExpires: 20" in said
