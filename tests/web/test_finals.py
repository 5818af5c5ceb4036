"""The end on the pages: choosing, waiting, the final board, and nothing before its time."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from leaderboard.ledger import watermark
from leaderboard.models import FinalScore
from tests import ending, snapshots
from tests.cast import World, ledger_of, make_user, predictions, set_round
from tests.web.pages import browser, text

BOARD, SUBMISSIONS = "/c/digits/leaderboard/", "/c/digits/submissions/"


@pytest.fixture
@snapshots.kept
def played(world: World) -> World:
    """Alice's three files err on 9, 6 and 4 of 32 hidden rows, bob's on 5."""
    alice, bob = world.join(world.alice), world.join(world.bob)
    for count in (9, 6, 4):
        world.score(alice, predictions(range(8, 8 + count)))
    world.score(bob, predictions(range(8, 13)))
    return world


# --- Choosing -------------------------------------------------------------------------------------


def test_what_is_ticked_is_entered(played: World) -> None:
    alice = browser(played.alice)
    assert "Nothing is chosen yet: submission 3" in text(alice.get(SUBMISSIONS))
    saved = alice.post("/c/digits/finals/", {"numbers": ["1", "3"]}, follow=True)
    assert "Submissions 1 and 3 are entered" in text(saved)
    ticked = re.findall(r'value="(\d)" form="finals-form" checked', saved.content.decode())
    assert ticked == ["3", "1"]


def test_too_many_are_refused_beside_the_form(played: World) -> None:
    alice = browser(played.alice)
    response = alice.post("/c/digits/finals/", {"numbers": ["1", "2", "3"]})
    assert response.status_code == 422
    assert "enters at most 2 submissions" in text(response)
    assert "Nothing is chosen yet" in text(response)


def test_ticks_that_were_refused_are_shown_again_and_not_saved(played: World) -> None:
    alice = browser(played.alice)
    alice.post("/c/digits/finals/", {"numbers": ["2"]})
    response = alice.post("/c/digits/finals/", {"numbers": ["3", "1", "99"]})
    ticked = re.findall(r'value="(\d)" form="finals-form" checked', response.content.decode())
    assert ticked == ["3", "1"]
    assert "Submission 2 is entered" in text(response)
    assert "Your ticks in the list are not saved yet." in text(response)


@pytest.mark.parametrize("number", ["x", "1e3", "-1", "9" * 40, "99"])
def test_odd_numbers_are_refused(played: World, number: str) -> None:
    response = browser(played.alice).post("/c/digits/finals/", {"numbers": [number]})
    assert response.status_code == 422


def test_one_submission_is_entered_and_taken_out_on_its_own_page(played: World) -> None:
    alice = browser(played.alice)
    assert "Enter it for the finals" in text(alice.get(f"{SUBMISSIONS}2/"))
    entered = alice.post(f"{SUBMISSIONS}2/final/", {"in": ""}, follow=True)
    assert "Submission 2 is entered" in text(entered)
    out = alice.post(f"{SUBMISSIONS}2/final/", {"out": ""}, follow=True)
    assert "Nothing is chosen yet" in text(out)


def test_one_more_than_allowed_is_refused_with_a_word(played: World) -> None:
    alice = browser(played.alice)
    alice.post("/c/digits/finals/", {"numbers": ["1", "2"]})
    refused = alice.post(f"{SUBMISSIONS}3/final/", {"in": ""}, follow=True)
    assert "enters at most 2 submissions" in text(refused)


@pytest.mark.parametrize("who", ["anonymous", "stranger", "bob"])
def test_only_the_team_chooses(played: World, who: str) -> None:
    people = {"anonymous": None, "stranger": make_user("stranger"), "bob": played.bob}
    client = browser(people[who])
    client.post("/c/digits/finals/", {"numbers": ["2"]})
    status = client.post(f"{SUBMISSIONS}2/final/", {"in": ""}).status_code
    assert status == (302 if who == "anonymous" else 404)
    alice = played.digits.teams.get(name="team alice")
    assert not alice.selections.exists()


def test_choosing_goes_by_post(played: World) -> None:
    alice = browser(played.alice)
    assert alice.get("/c/digits/finals/")["Location"] == f"{SUBMISSIONS}#finals"
    assert alice.get(f"{SUBMISSIONS}2/final/")["Location"] == f"{SUBMISSIONS}2/"


def test_the_start_closes_the_form(played: World) -> None:
    ending.start(played.digits)
    alice = browser(played.alice)
    page = alice.get(SUBMISSIONS)
    assert "finals-form" not in page.content.decode()
    assert "Nothing was chosen: submission 3" in text(page)
    assert "This file is entered" in text(alice.get(f"{SUBMISSIONS}3/"))
    assert "This file is not entered" in text(alice.get(f"{SUBMISSIONS}1/"))
    refused = alice.post("/c/digits/finals/", {"numbers": ["1"]})
    assert refused.status_code == 409


# --- Waiting --------------------------------------------------------------------------------------


def test_after_closing_members_are_led_to_their_choice(played: World) -> None:
    ending.close(played.digits)
    page = text(browser(played.alice).get(BOARD))
    assert "teams select their final entries" in page
    assert "Select your finals" in page
    assert "Select your finals" not in text(browser().get(BOARD))


def test_what_is_seen_of_the_scoring_does_not_tell_how_far_it_is(played: World) -> None:
    ending.start(played.digits)
    clients = [browser(), browser(played.alice), browser(played.organizer)]
    paths = ["/", "/c/digits/", BOARD, "/api/v1/competitions/digits/"]
    before = [text(client.get(path)) for client in clients for path in paths]
    assert "The final scoring has begun" in before[2]
    ending.measure(played.digits)
    assert played.round.finals_scored_at is not None
    assert [text(client.get(path)) for client in clients for path in paths] == before


def _routes(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    for entry in resolver.url_patterns:
        here = before + str(entry.pattern).replace("^", "").replace("$", "")
        if isinstance(entry, URLResolver):
            yield from _routes(entry, here)
        elif isinstance(entry, URLPattern):
            yield here


def _address(route: str) -> str:
    filled = re.sub(r"<slug:slug>", "digits", route)
    filled = re.sub(r"<(int|path):(number|object_id|id)>", "1", filled)
    return re.sub(r"<[^>]+>", "x", filled)


def test_no_route_shows_a_final_score_before_the_reveal(played: World) -> None:
    """The exact scores get values that nothing else has; nobody but organizers meets them."""
    ending.score(played.digits)
    marks = {"3456789", "0.9876", "0.98765", "98765433"}
    FinalScore.objects.update(units=3456789, rows=280000, resolution=1000)
    routes = {_address(route) for route in _routes(get_resolver())}
    assert {BOARD, "/c/digits/final.csv", "/api/v1/competitions/digits/final/"} <= routes
    assert "/organize/digits/finals/final.csv" in routes
    shown = ending_marks(browser(played.organizer), routes, marks)
    assert shown
    organizers = ("/organize/", "/api/v1/organize/")
    assert all(route.startswith(organizers) for route in shown)
    for user in (None, played.alice):
        assert ending_marks(browser(user), routes, marks) == set()
    set_round(played.digits, revealed_at=played.round.finals_scored_at)
    assert ending_marks(browser(), {BOARD}, marks)


def ending_marks(client: Client, routes: set[str], marks: set[str]) -> set[str]:
    """The routes whose answers hold one of the marks."""
    client.raise_request_exception = False
    found = set()
    for route in sorted(routes - {"/admin/logout/", "/account/logout/"}):
        response = client.get(route)
        body = b"".join(response) if response.streaming else response.content
        if any(mark.encode() in body for mark in marks):
            found.add(route)
    return found


# --- The final board ------------------------------------------------------------------------------


def test_the_reveal_puts_the_final_board_first_and_keeps_the_other(played: World) -> None:
    browser(played.alice).post("/c/digits/finals/", {"numbers": ["1", "2"]})
    ending.reveal(played.digits)
    final = text(browser(played.alice).get(BOARD))
    assert "1 team bob 0.84 1st to 2nd as before 0.85" in final
    assert "2 team alice you 0.81 1st to 2nd down 1 from 1st 0.85" in final
    assert "2 of 2 teams could be first: team bob, team alice." in final
    assert "You: 2nd" in final
    released = text(browser(played.alice).get(f"{BOARD}released/"))
    assert "Final scores" in released
    assert "1= team alice you 0.85" in released
    assert "finals revealed" in text(browser().get("/"))
    assert "Final scores" in text(browser().get("/c/digits/"))


def test_equal_scores_share_a_rank(played: World) -> None:
    third = played.join(make_user("carol"))
    played.score(third, predictions(range(8, 12)))
    ending.reveal(played.digits)
    page = text(browser().get(BOARD))
    assert "1= team alice 0.88 1st to 3rd as before 0.85" in page
    assert "1= team carol 0.88 1st to 3rd as before 0.85" in page
    assert "3 team bob 0.84 1st to 3rd down 2 from 1st" in page


def test_each_row_says_in_words_what_its_drawing_shows(played: World) -> None:
    ending.reveal(played.digits)
    html = browser().get(BOARD).content.decode()
    assert re.search(r'aria-label="0.88; interval 0.\d+ to 0.9\d+"', html)
    alone = re.search(r'aria-label="0.84; interval (0.\d+) to (0.9\d+)"', html)
    html = browser().get(BOARD, {"intervals": "all"}).content.decode()
    together = re.search(r'aria-label="0.84; interval (0.\d+) to (0.9\d+)"', html)
    assert alone is not None
    assert together is not None
    assert together[1] < alone[1] < alone[2] < together[2]


def test_my_submissions_show_their_final_scores(played: World) -> None:
    ending.reveal(played.digits)
    alice = browser(played.alice)
    assert "0.88" in text(alice.get(SUBMISSIONS))
    assert "Final score 0.88 , interval 0." in text(alice.get(f"{SUBMISSIONS}3/"))
    assert "This file was not entered" in text(alice.get(f"{SUBMISSIONS}1/"))


def test_a_search_keeps_the_ranks(played: World) -> None:
    ending.reveal(played.digits)
    page = text(browser().get(BOARD, {"team": "BOB"}))
    assert "1 team with “BOB”" in page
    assert "2 team bob 0.84" in page


def test_the_csv_is_safe_and_complete(played: World) -> None:
    played.digits.teams.filter(name="team bob").update(name="=1+1")
    assert browser().get("/c/digits/final.csv").status_code == 404
    ending.reveal(played.digits)
    response = browser().get("/c/digits/final.csv")
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert [(row["team"], row["loss_numerator"], row["loss_denominator"]) for row in rows] == [
        ("team alice", "1", "8"),
        ("'=1+1", "5", "32"),
    ]


def test_more_teams_do_not_cost_more_queries(played: World) -> None:
    ending.reveal(played.digits)
    with CaptureQueriesContext(connection) as few:
        browser().get(BOARD)
    set_round(
        played.digits,
        finals_scored_at=None,
        finals_started_at=None,
        revealed_at=None,
        closes_at=timezone.now() + timedelta(days=30),
    )
    remembered = watermark.file_of(ledger_of(played.digits).uid)
    remembered.write_bytes(remembered.read_bytes().replace(b"ended\n", b""))
    for number in range(6):
        played.score(played.join(make_user(f"p{number}")), predictions(range(8, 20)))
    ending.reveal(played.digits)
    with CaptureQueriesContext(connection) as many:
        browser().get(BOARD)
    assert len(many) == len(few)
