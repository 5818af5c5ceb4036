"""Announcements: written, shown, fed, edited, withdrawn."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from xml.etree import ElementTree

import pytest
from django.test import Client

from leaderboard.errors import Refused
from leaderboard.models import Announcement, Event, Visibility
from leaderboard.organize import announcements
from tests.cast import World

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/c/digits/announcements.atom"


def announce(world: World, title: str = "Hello", text: str = "") -> Announcement:
    return announcements.announce(world.digits, by=world.organizer, title=title, text=text)


def read(path: str, user: Any = None) -> str:
    client = Client()
    if user is not None:
        client.force_login(user)
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def feed(path: str = FEED) -> Any:
    return ElementTree.fromstring(read(path))  # noqa: S314  (our own)


def test_the_overview_shows_the_newest_three(world: World) -> None:
    for number in range(1, 5):
        announce(world, f"Notice {number}")
    page = read("/c/digits/")
    assert [f"Notice {number}" in page for number in range(1, 5)] == [False, True, True, True]
    assert "Notice 1" in read("/c/digits/announcements/")


def test_texts_are_markdown_with_tex(world: World) -> None:
    announce(world, text="See **this**: $x^2$")
    page = read("/c/digits/announcements/")
    assert "<strong>this</strong>" in page
    assert "<msup>" in page


def test_the_api_lists_them(world: World) -> None:
    announce(world, "First", "One.")
    announce(world, "Second")
    document = Client().get("/api/v1/competitions/digits/announcements/").json()
    assert document["count"] == 2
    assert [each["number"] for each in document["results"]] == [2, 1]
    assert document["results"][1]["text"] == "One."
    assert document["results"][1]["author"] == "organizer"


def test_an_edit_is_shown_as_one(world: World) -> None:
    made = announce(world)
    announcements.edit(made, by=world.organizer, title="Hello all", text="")
    page = read("/c/digits/announcements/")
    assert "Hello all" in page
    assert "edited" in page


def test_an_edit_that_changes_nothing_is_none(world: World) -> None:
    made = announce(world)
    announcements.edit(made, by=world.organizer, title=" Hello ", text="\n")
    assert made.edited_at is None


def test_what_is_withdrawn_is_nowhere(world: World) -> None:
    announcements.withdraw(announce(world, "Mistake"), by=world.organizer)
    for path in ("/c/digits/", "/c/digits/announcements/", FEED):
        assert "Mistake" not in read(path)
    assert Client().get("/api/v1/competitions/digits/announcements/").json()["count"] == 0


def test_what_is_withdrawn_stays_so(world: World) -> None:
    made = announce(world)
    announcements.withdraw(made, by=world.organizer)
    with pytest.raises(Refused, match="withdrawn"):
        announcements.edit(made, by=world.organizer, title="New", text="")
    assert announce(world).number == 2


@pytest.mark.parametrize(
    ("title", "text", "field"),
    [
        ("", "x", "title"),
        ("x" * 121, "", "title"),
        (" \n ", "", "title"),
        ("x", "y" * 20_001, "text"),
    ],
)
def test_what_is_missing_or_too_long_is_named(
    world: World, title: str, text: str, field: str
) -> None:
    with pytest.raises(Refused) as refused:
        announce(world, title, text)
    assert set(refused.value.fields) == {field}
    assert not Announcement.objects.exists()


def test_every_change_is_an_event(world: World) -> None:
    made = announce(world)
    announcements.edit(made, by=world.organizer, title="New", text="")
    announcements.withdraw(made, by=world.organizer)
    found = Event.objects.filter(kind="announced")
    assert [each.data["change"] for each in found] == ["announced", "edited", "withdrawn"]
    assert found[1].data["title_before"] == "Hello"
    assert {each.subjects["announcement"] for each in found} == {1}


# --- The feed -------------------------------------------------------------------------------------


def test_the_feed_is_atom_with_absolute_addresses_and_lasting_ids(world: World) -> None:
    made = announce(world, "Hello", "A [link](data/) and $x$.")
    root = feed()
    assert root.tag == f"{ATOM}feed"
    (entry,) = root.findall(f"{ATOM}entry")
    before = entry.findtext(f"{ATOM}id")
    assert before == UUID(made.uid).urn
    for name in ("title", "id", "updated"):
        assert root.findtext(f"{ATOM}{name}")
        assert entry.findtext(f"{ATOM}{name}")
    assert root.find(f"{ATOM}author/{ATOM}name") is not None
    for link in root.iter(f"{ATOM}link"):
        assert urlsplit(link.attrib["href"]).netloc == "testserver"
    base = "{http://www.w3.org/XML/1998/namespace}base"
    assert root.attrib[base] == "http://testserver/c/digits/announcements/"
    announcements.edit(made, by=world.organizer, title="Other", text="")
    assert feed().findtext(f"{ATOM}entry/{ATOM}id") == before


def test_an_empty_feed_is_the_same_each_time(world: World) -> None:
    assert read(FEED) == read(FEED)


def test_characters_that_xml_cannot_hold_are_left_out(world: World) -> None:
    announce(world, "Hel\x01lo \x0b", "te\x02xt \ufffe")
    assert feed().findtext(f"{ATOM}entry/{ATOM}title") == "Hello"


def test_the_feed_of_an_invited_competition_needs_a_session_or_a_key(world: World) -> None:
    world.join(world.alice)
    announce(world, "Secret news")
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    assert Client().get(FEED).status_code == 404
    assert "Secret news" in read(FEED, world.alice)
    address = _keyed(read("/c/digits/announcements/", world.alice))
    assert "Secret news" in read(address)
    assert Client().get(address + "0").status_code == 404
    assert Client().get(f"{FEED}?key={'0' * 32}-{'0' * 32}").status_code == 404


def test_a_key_opens_the_feed_and_nothing_else(world: World) -> None:
    world.join(world.alice)
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    key = urlsplit(_keyed(read("/c/digits/announcements/", world.alice))).query
    assert Client().get(f"/c/digits/?{key}").status_code == 404


def test_a_key_ends_with_the_password_or_the_place(world: World) -> None:
    world.join(world.alice)
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    address = _keyed(read("/c/digits/announcements/", world.alice))
    world.alice.memberships.all().delete()
    assert Client().get(address).status_code == 404
    world.join(world.alice, "again")
    assert Client().get(address).status_code == 200
    world.alice.set_password("another-long-password")
    world.alice.save()
    assert Client().get(address).status_code == 404


def _keyed(page: str) -> str:
    start = page.index(f"{FEED}?key=")
    return page[start : page.index('"', start)]


# --- The console ----------------------------------------------------------------------------------


@pytest.fixture
def browser(world: World) -> Client:
    client = Client()
    client.force_login(world.organizer)
    return client


def test_the_preview_shows_it_and_stores_nothing(world: World, browser: Client) -> None:
    sent = {"title": "Soon", "text": "In $n$ days", "preview": "1"}
    page = browser.post("/organize/digits/announcements/", sent).content.decode()
    assert "<math" in page
    assert not Announcement.objects.exists()


def test_it_is_written_edited_and_withdrawn_on_the_tab(world: World, browser: Client) -> None:
    tab = "/organize/digits/announcements/"
    assert browser.post(tab, {"title": "One", "text": "x"}).status_code == 302
    assert browser.post(f"{tab}1/", {"title": "Two", "text": "x"}).status_code == 302
    assert "Two" in browser.get(tab).content.decode()
    assert "Withdraw" in browser.get(f"{tab}1/withdraw/").content.decode()
    assert read("/c/digits/announcements/").count("Two") == 1
    browser.post(f"{tab}1/withdraw/")
    assert "Two" not in read("/c/digits/announcements/")
    assert browser.get(f"{tab}2/").status_code == 404
