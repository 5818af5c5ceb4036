"""A page of a board is drawn once for all who look at it at the same time."""

import json
import re
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.platform.web_server import LONGEST_LINE, Line
from leaderboard.templatetags import drawings
from leaderboard.web import drawing
from leaderboard.web.drawing import Drawing
from tests import ending
from tests.cast import World, make_competition, predictions
from tests.walking import ROLES, kept_stage
from tests.web.pages import browser, text

BOARD = "/c/digits/leaderboard/"


@pytest.fixture(autouse=True)
def for_a_minute(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share drawings for a minute, and none of other tests, whose boards have the same ids."""
    settings.BOARD_SECONDS = 60
    monkeypatch.setattr("leaderboard.web.drawing._drawings", OrderedDict())


def statements(client: Client) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(BOARD).status_code == 200
    return len(asked)


def own_row(client: Client, path: str = BOARD) -> str:
    html = client.get(path).content.decode()
    return html.partition('id="mine"')[2].partition("</tr>")[0]


def test_each_person_sees_the_mark_on_the_own_row_alone(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    world.score(bob, predictions(range(8, 20)))
    assert alice.name in own_row(browser(world.alice))
    assert bob.name in own_row(browser(world.bob))
    assert own_row(browser()) == ""
    assert "You: 2nd" in text(browser(world.bob).get(BOARD))


def test_who_comes_later_reads_little(world: World) -> None:
    world.score(world.join(world.alice), predictions(range(8, 12)))
    first, second = statements(browser()), statements(browser())
    assert second < first / 2


def test_what_others_get_meanwhile_is_seen_later_and_one_own_answer_at_once(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    assert bob.name not in text(browser().get(BOARD))
    world.score(bob, predictions(range(8, 20)))
    assert bob.name not in text(browser(world.alice).get(BOARD))
    assert bob.name in own_row(browser(world.bob))
    assert bob.name in text(browser(world.alice).get(BOARD))


def test_an_old_drawing_is_not_taken_for_what_there_is(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    client = browser()
    client.get(BOARD)
    world.score(bob, predictions(range(8, 20)))
    shown = client.get(BOARD).content.decode().partition('data-version="')[2].partition('"')[0]
    assert client.get(BOARD, headers={"Board-Version": shown}).status_code == 200


def test_a_hidden_board_is_shared_with_nobody(world: World) -> None:
    hidden = {"is_hidden": True, "team_limit": 9, "question_limit": 900}
    secret = make_competition("secret", world.organizer, **hidden)
    alice, bob = (world.join(each, competition=secret) for each in (world.alice, world.bob))
    world.score(alice, predictions(range(8, 12)))
    world.score(bob, predictions(range(8, 20)))
    path = "/c/secret/leaderboard/"
    assert bob.name in text(browser(world.organizer).get(path))
    assert bob.name not in text(browser(world.alice).get(path))
    assert alice.name not in text(browser(world.bob).get(path))


def test_a_final_board_is_shared_with_the_own_mark(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    world.score(bob, predictions(range(8, 20)))
    ending.reveal(world.digits)
    first = statements(browser())
    assert alice.name in own_row(browser(world.alice))
    assert bob.name in own_row(browser(world.bob))
    assert statements(browser()) <= first / 2


def test_everybody_sees_the_same_whoever_looked_before(world: World) -> None:
    stage, moment = kept_stage(world), timezone.now()
    open_, ended = f"/c/{stage.digits.slug}/", f"/c/{stage.revealed.slug}/"
    pages = [f"{open_}leaderboard/{asked}" for asked in ("", "?axis=all", "?page=2", "?team=e")]
    pages += [f"{ended}leaderboard/", f"{ended}leaderboard/released/", f"{open_}submissions/2/"]
    asked = [(role, page) for page in pages for role in ROLES]

    def see(role: str, page: str) -> str:
        response = stage.client(role).get(page)
        return re.sub(r'csrf\w+" value="\w+"|X-CSRFToken[^,}]*', "", response.content.decode())

    with patch("django.utils.timezone.now", lambda: moment):
        alone = dict[tuple[str, str], str]()
        for each in asked:
            drawing._drawings.clear()
            with patch.object(drawings, "_MOST_KEPT", 0):  # each row is rendered
                alone[each] = see(*each)
        for each in (*asked, *reversed(asked)):
            assert see(*each) == alone[each], each
    assert len(set(alone.values())) > len(ROLES)


def test_a_part_is_made_once(world: World) -> None:
    drawing, made = Drawing(None), []  # type: ignore[arg-type]  # no fact is asked for
    for _ in range(3):
        drawing.part("rows", lambda: made.append(1))
    assert made == [1]


def test_a_row_is_rendered_once_a_minute_for_what_it_shows() -> None:
    asked, moment = list[str](), datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
    row = Template("{% load drawings %}{% same team score %}{{ said }}{% endsame %}")

    def render(team: str, score: float) -> str:
        asked.append(f"{team} {len(asked)}")
        return row.render(Context({"team": team, "score": score, "said": asked[-1]}))

    with patch("django.utils.timezone.now", lambda: moment):
        assert [render("a", 0.5), render("b", 0.5), render("a", 0.5)] == ["a 0", "b 1", "a 0"]
        assert render("a", 0.6) == "a 3"
    moment += timedelta(minutes=1)
    with patch("django.utils.timezone.now", lambda: moment):
        assert render("a", 0.5) == "a 4"


def test_what_stands_around_the_rows_is_read_once_for_all(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.score(alice, predictions(range(8, 12)))
    statements(browser())
    world.score(bob, predictions(range(8, 20)))
    with patch("leaderboard.queries.contenders", side_effect=AssertionError):
        assert bob.name in own_row(browser(world.bob))


class Waiting:
    """A connection whose first request is of a method and a path."""

    def __init__(self, command: str, path: str) -> None:
        self.path = path
        self.requests = [SimpleNamespace(error=None, command=command, path=path)]


def test_uploads_are_served_before_pages_but_not_alone() -> None:
    line = Line()
    for number in range(3):
        line.append(Waiting("GET", f"/{number}"))  # type: ignore[arg-type]
    for _ in range(4):
        line.append(Waiting("POST", "/c/digits/submit/"))  # type: ignore[arg-type]
    order = [line.popleft().path for _ in range(len(line))]
    upload = "/c/digits/submit/"
    assert order == [upload, upload, upload, "/0", upload, "/1", "/2"]
    assert not line


def full_line() -> Line:
    line = Line()
    for _ in range(LONGEST_LINE):
        line.append(Waiting("GET", "/"))  # type: ignore[arg-type]
    return line


def test_where_too_many_wait_pages_are_refused_and_uploads_and_probes_are_not() -> None:
    line = full_line()
    refused, upload, probe, style = (
        Waiting("GET", "/"),
        Waiting("POST", "/c/digits/submit/"),
        Waiting("GET", "/healthz"),
        Waiting("GET", "/static/css/app.css"),
    )
    for each in (refused, upload, probe, style):
        line.append(each)  # type: ignore[arg-type]
    assert [line.popleft() for _ in range(3)] == [refused, upload, probe]
    status, headers, body = refused.requests[0].error.to_response()
    assert (status, dict(headers)["Retry-After"]) == ("503 Service Unavailable", "5")
    assert dict(headers)["Refresh"] == "5"
    assert b"This page loads again by itself" in body
    assert not upload.requests[0].error
    assert not probe.requests[0].error
    assert not style.requests[0].error


def test_what_was_sent_to_a_crowded_site_is_not_asked_for_again() -> None:
    refused = Waiting("POST", "/c/digits/finals/")
    full_line().append(refused)  # type: ignore[arg-type]
    _, headers, body = refused.requests[0].error.to_response()
    assert "Refresh" not in dict(headers)
    assert b"What you sent was not taken." in body


def test_a_crowded_site_tells_a_program_when_to_ask_again() -> None:
    refused = Waiting("GET", "/api/v1/competitions/digits/submissions/1/")
    full_line().append(refused)  # type: ignore[arg-type]
    status, headers, body = refused.requests[0].error.to_response()
    assert (status, dict(headers)["Retry-After"]) == ("503 Service Unavailable", "5")
    assert dict(headers)["Content-Type"] == "application/problem+json"
    problem = json.loads(body)
    assert (problem["code"], problem["status"]) == ("unavailable", 503)
    assert problem["detail"].startswith("Many people are here right now.")
