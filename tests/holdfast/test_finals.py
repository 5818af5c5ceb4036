"""Selecting final entries and reading the final board, as they are printed."""

import json

import httpx
import pytest

from tests.holdfast.conftest import Run, Server, ok, page, problem

pytestmark = pytest.mark.usefixtures("signed_in")

FINALS, FINAL = "competitions/digits/finals/", "competitions/digits/final/"
CHOICE = {
    "limit": 2, "numbers": [3, 7], "stand_in": 3, "entered": [3, 7], "may_change": True,
    "summary": "Submissions 3 and 7 are entered for the final scores.",
}  # fmt: skip
ROW = {
    "rank": 1, "team": "Alices",
    "best": {
        "number": 3, "is_chosen": True, "score": 0.9125, "score_text": "0.912",
        "loss_numerator": 7, "loss_denominator": 80,
        "sampling": {"low": 0.81234, "high": 0.96}, "interval": {"low": 0.7, "high": 0.99},
    },
    "best_place": 1, "worst_place": 3, "could_be_first": True,
    "others": [], "released_rank": 4, "released_score_text": "0.90", "move": 3,
    "is_baseline": False, "is_verified": False, "is_mine": True,
}  # fmt: skip


@pytest.mark.parametrize("words", [["digits"], ["-c", "digits"]])
def test_the_selection_is_shown_in_words(words: list[str], server: Server, run: Run) -> None:
    server.on("GET", FINALS, ok(CHOICE))
    ran = run("finals", *words)
    assert ran.code == 0
    assert "Selected  3, 7" in ran.out
    assert "Submissions 3 and 7 are entered" in ran.out


@pytest.mark.parametrize("words", [["digits", "3", "7"], ["-c", "digits", "3", "7"]])
def test_numbers_replace_the_selection(words: list[str], server: Server, run: Run) -> None:
    server.on("PUT", FINALS, ok(CHOICE))
    assert run("finals", *words).code == 0
    assert json.loads(server.last.content) == {"numbers": [3, 7]}


def test_clear_selects_none(server: Server, run: Run) -> None:
    server.on("PUT", FINALS, ok(CHOICE | {"numbers": [], "entered": [3]}))
    assert run("c", "finals", "digits", "--clear").code == 0
    assert json.loads(server.last.content) == {"numbers": []}


@pytest.mark.parametrize("words", [["digits", "three"], ["digits", "3", "--clear"], []])
def test_wrong_usage_sends_nothing(words: list[str], server: Server, run: Run) -> None:
    assert run("finals", *words).code == 2
    assert server.requests == []


def test_a_refusal_is_reported(server: Server, run: Run) -> None:
    server.on("PUT", FINALS, problem(409, "finals_started", "The organizer has started them."))
    ran = run("finals", "digits", "3")
    assert (ran.code, ran.out) == (1, "")
    assert "The organizer has started them." in ran.err


def test_the_selection_as_json_is_what_the_server_sent(server: Server, run: Run) -> None:
    server.on("GET", FINALS, ok(CHOICE))
    assert json.loads(run("finals", "digits", "--format", "json").out) == [CHOICE]


def test_the_final_board_is_a_table_with_both_ranks(server: Server, run: Run) -> None:
    server.on("GET", FINAL, page(ROW))
    lines = run("leaderboard", "digits", "--final").out.splitlines()
    assert lines[0].split() == [
        "Rank", "Could", "be", "Team", "Score", "Low", "High", "Released", "Rank", "there", "Move",
        "Mark",
    ]  # fmt: skip
    assert lines[2].split() == [
        "1", "1", "to", "3", "Alices", "0.912", "0.8123", "0.9600", "0.90", "4", "+3", "you",
    ]  # fmt: skip


def test_the_final_board_as_csv_is_the_website_s(server: Server, run: Run) -> None:
    lines = "rank,team\r\n1,Alices\r\n"
    server.on("GET", FINAL, httpx.Response(200, text=lines))
    assert run("leaderboard", "digits", "--final", "-v").out == lines
    assert server.last.url.params["format"] == "csv"
    assert run("leaderboard", "digits", "--final", "-v", "--search", "A").code == 2


def test_my_final_place_is_noted_where_it_is_not_on_the_screen(server: Server, run: Run) -> None:
    other = ROW | {"is_mine": False}
    server.on("GET", FINAL, page(other, me=ROW | {"rank": 41}))
    assert "You: rank 41, Alices, with 0.912." in run("leaderboard", "digits", "--final").err


def test_before_the_reveal_the_reason_is_reported(server: Server, run: Run) -> None:
    server.on("GET", FINAL, problem(404, "finals_not_revealed", "They are not revealed yet."))
    ran = run("leaderboard", "digits", "--final")
    assert (ran.code, ran.err.strip()) == (1, "Error: They are not revealed yet.")
