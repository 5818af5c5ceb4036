"""The leaderboard page, its CSV, and the ledger."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.models import Team
from tests.cast import World, make_user, predictions, said
from tests.web.pages import browser, text


def fill(world: World, count: int, first: int = 0) -> list[Team]:
    teams = []
    for number in range(first, first + count):
        team = world.join(make_user(f"player{number}"), f"Team {number:03d}")
        world.score(team, predictions(wrong=range(8, 8 + 2 * (number % 10))))
        teams.append(team)
    return teams


def test_teams_stand_in_order_of_their_released_scores(world: World) -> None:
    fill(world, 3)
    page = text(browser().get("/c/digits/leaderboard/"))
    assert page.index("Team 000") < page.index("Team 001", page.index("Entries"))
    assert "1 Team 000 1.00" in page


def test_each_row_says_in_words_what_its_drawing_shows(world: World) -> None:
    fill(world, 1)
    html = browser().get("/c/digits/leaderboard/").content.decode()
    assert 'aria-label="1.00; sampling error 0.89 to 1.00"' in html


def test_my_row_is_marked_and_one_jump_away(world: World) -> None:
    fill(world, 2)
    team = world.join(world.alice, "Alice's")
    world.score(team, predictions(wrong=range(8, 30)))
    response = browser(world.alice).get("/c/digits/leaderboard/")
    assert "You: 3rd" in text(response)
    html = response.content.decode()
    assert 'href="?page=1#mine"' in html
    assert 'id="mine" class="mine"' in html
    assert 'class="mine"' not in browser().get("/c/digits/leaderboard/").content.decode()


def test_a_search_keeps_the_ranks_of_the_whole_board(world: World) -> None:
    fill(world, 3)
    response = browser().get("/c/digits/leaderboard/", {"team": "002"})
    page = text(response)
    assert "1 team with “002” in the name" in page
    assert "3 Team 002" in page


def test_a_search_without_result_says_so(world: World) -> None:
    fill(world, 1)
    assert "0 teams with “nobody”" in text(
        browser().get("/c/digits/leaderboard/", {"team": "nobody"})
    )


@pytest.mark.parametrize("page", ["0", "-1", "99999999999999999999", "x", "", "²"])
def test_odd_page_numbers_show_a_page(world: World, page: str) -> None:
    fill(world, 1)
    assert browser().get("/c/digits/leaderboard/", {"page": page}).status_code == 200
    assert browser().get("/c/digits/ledger/", {"page": page}).status_code == 200


def test_an_empty_board_says_what_fills_it(world: World) -> None:
    page = text(browser().get("/c/digits/leaderboard/"))
    assert "No score has been released yet." in page


def test_the_mechanism_is_named_below_the_board_with_a_link_to_how_it_works(world: World) -> None:
    html = browser().get("/c/digits/leaderboard/").content.decode()
    assert "/how-it-works/#ladder" in html


def test_baselines_and_verified_teams_are_marked(world: World) -> None:
    team = fill(world, 1)[0]
    Team.objects.filter(pk=team.pk).update(is_baseline=True, is_verified=True)
    page = text(browser().get("/c/digits/leaderboard/"))
    assert "baseline" in page
    assert "verified by the organizer" in page


def test_a_teams_name_is_only_text(world: World) -> None:
    world.score(world.join(world.alice, "<b>x</b>"))
    html = browser().get("/c/digits/leaderboard/").content.decode()
    assert "<b>x</b>" not in html


def test_the_csv_holds_every_team_once(world: World) -> None:
    fill(world, 3)
    response = browser().get("/c/digits/leaderboard.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert [row["team"] for row in rows] == ["Team 000", "Team 001", "Team 002"]
    assert rows[0]["rank"] == "1"
    assert rows[0]["score"] == "1.00"
    assert rows[0]["last_answer"] == "improved"


def test_a_spreadsheet_takes_no_teams_name_for_a_formula(world: World) -> None:
    world.score(world.join(world.alice, "=1+1"))
    assert "'=1+1" in browser().get("/c/digits/leaderboard.csv").getvalue().decode()


@pytest.mark.parametrize(
    "path", ["leaderboard/", "leaderboard/?team=team", "leaderboard.csv", "ledger/", ""]
)
def test_queries_do_not_grow_with_the_board(world: World, path: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(f"/c/digits/{path}").getvalue()
        return len(captured)

    client = browser(world.alice)
    world.score(world.join(world.alice))
    fill(world, 2)
    few = queries()
    fill(world, 6, first=2)
    assert queries() == few


def test_the_list_of_submissions_does_not_grow_in_queries(world: World) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/c/digits/submissions/").status_code == 200
        return len(captured)

    client = browser(world.alice)
    team = world.join(world.alice)
    world.score(team)
    few = queries()
    for wrong in range(9, 14):
        world.score(team, predictions(wrong=range(8, wrong)))
    assert queries() == few


def test_the_ledger_lists_every_release_with_its_hash(world: World) -> None:
    team = world.join(world.alice)
    releases = [said(world.score(team, predictions(range(8, n)))) for n in (30, 20)]
    response = browser().get("/c/digits/ledger/")
    html = response.content.decode()
    for release in releases:
        assert release.hash in html
    assert "Said more than “no” 2 of those about files" in text(response)


def test_an_empty_ledger_says_so(world: World) -> None:
    assert "The ledger is empty." in text(browser().get("/c/digits/ledger/"))
