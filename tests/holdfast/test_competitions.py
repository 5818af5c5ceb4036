"""Lists, boards, joining and teams, as they are printed."""

import csv
import json
import time
import webbrowser
from io import StringIO

import httpx
import pytest

from tests.holdfast.conftest import Run, Server, ok, page, problem

pytestmark = pytest.mark.usefixtures("signed_in")

DIGITS = {
    "slug": "digits", "title": "Digits", "phase": "open", "closes_at": "2026-12-01T12:00:00Z",
    "metric": "Accuracy", "mechanism": "Ladder", "teams": 3, "joined": True,
}  # fmt: skip
ROW = {
    "rank": 1, "team": "Alices", "score": 0.9, "score_text": "0.90",
    "sampling": {"low": 0.85, "high": 0.93}, "certificate": None, "entries": 4,
    "guarantee_text": "none", "last_improvement_at": "2026-11-20T10:00:00Z",
    "last_answer": "improved", "last_answer_at": "2026-11-20T10:00:00Z",
    "is_baseline": False, "is_verified": False, "is_mine": False,
}  # fmt: skip
MINE = ROW | {"rank": 41, "team": "Mine", "is_mine": True}
BOARD = "competitions/digits/leaderboard/"
TEAM = {
    "competition": "digits", "name": "Alices", "created_at": "2026-11-01T08:00:00Z",
    "members": [
        {"username": "alice", "is_captain": True}, {"username": "bob", "is_captain": False},
    ],
    "is_baseline": False, "is_verified": False,
    "limits": {"summary": "3 of 5 submissions left today."},
}  # fmt: skip


@pytest.mark.parametrize("command", [["competitions", "list"], ["c", "list"]])
def test_competitions_are_a_table_for_people(command: list[str], server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page(DIGITS))
    ran = run(*command)
    assert ran.code == 0
    assert ran.out.splitlines()[0].split() == [
        "Competition", "Title", "Phase", "Closes", "Metric", "Mechanism", "Teams", "Joined",
    ]  # fmt: skip
    assert "digits" in ran.out


def test_a_table_in_a_pipe_is_never_wrapped_or_coloured(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page(DIGITS | {"title": "A long title " * 30}))
    out = run("c", "list").out
    assert len(out.splitlines()) == 3, out
    assert "\x1b" not in out


@pytest.mark.parametrize("flag", [["-v"], ["--csv"], ["--format", "csv"]])
def test_csv_is_for_programs(flag: list[str], server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page(DIGITS))
    row = next(csv.DictReader(StringIO(run("c", "list", *flag).out)))
    assert row["closes_at"] == "2026-12-01T12:00:00Z"
    assert row["joined"] == "true"


def test_json_is_what_the_server_sent(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page(DIGITS))
    assert json.loads(run("c", "list", "--format", "json").out) == [DIGITS]


def test_no_competitions_is_a_sentence_and_an_empty_list(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page())
    table = run("c", "list")
    assert (table.code, table.out) == (0, "")
    assert "No competition is open to you" in table.err
    assert json.loads(run("c", "list", "--format", "json").out) == []


def test_a_list_reports_that_there_is_more(server: Server, run: Run) -> None:
    server.on("GET", "competitions/", page(DIGITS, count=70, more=True))
    ran = run("c", "list", "--page-size", "1", "--page", "2")
    assert dict(server.last.url.params) == {"page": "2", "page_size": "1"}
    assert "1 of 70; --page 3 shows the next" in ran.err


def test_all_asks_page_by_page(server: Server, run: Run) -> None:
    other = DIGITS | {"slug": "letters"}
    server.on("GET", "competitions/", page(DIGITS, count=2, more=True), page(other, count=2))
    rows = json.loads(run("c", "list", "--all", "--format", "json").out)
    assert [row["slug"] for row in rows] == ["digits", "letters"]
    assert [request.url.params["page"] for request in server.requests] == ["1", "2"]


@pytest.mark.parametrize(
    "command",
    [
        ["competitions", "leaderboard", "digits", "-s"],
        ["c", "leaderboard", "-c", "digits", "--show"],
        ["leaderboard", "digits"],
    ],
)
def test_the_board_is_shown_the_way_kaggle_does(
    command: list[str], server: Server, run: Run
) -> None:
    server.on("GET", BOARD, page(ROW | {"is_mine": True}, me=MINE))
    ran = run(*command)
    assert ran.code == 0
    for text in ("Alices", "0.90", "0.850", "0.930", "improved", "you"):
        assert text in ran.out


def test_my_own_rank_is_noted_when_it_is_on_another_page(server: Server, run: Run) -> None:
    server.on("GET", BOARD, page(ROW, me=MINE))
    assert "You: rank 41, Mine, with 0.90." in run("leaderboard", "digits").err


def test_the_guarantee_stands_below_the_board(server: Server, run: Run) -> None:
    said = {
        "sentence": "The leading score is known to ±0.06.",
        "questions_text": "10 of 600 questions answered.",
    }
    server.on("GET", BOARD, page(ROW | {"is_mine": True}, me=MINE, guarantee=said))
    ran = run("leaderboard", "digits")
    assert ran.err.splitlines() == [*said.values()]
    assert "Guarantee" not in ran.out


def test_a_team_without_a_score_is_on_the_board_too(server: Server, run: Run) -> None:
    row = ROW | {"score": None, "score_text": None, "sampling": None}
    server.on("GET", BOARD, page(row | {"is_mine": True}))
    assert run("leaderboard", "digits").code == 0


def test_the_board_is_downloaded_whole(server: Server, run: Run, environment: object) -> None:
    server.on("GET", BOARD, httpx.Response(200, text="rank,team\r\n1,Alices\r\n"))
    ran = run("leaderboard", "digits", "-d", "-p", "boards")
    assert ran.code == 0
    assert server.last.url.params["format"] == "csv"
    with open("boards/digits-leaderboard.csv", newline="") as file:  # noqa: PTH123
        assert file.read() == "rank,team\r\n1,Alices\r\n"


def test_the_board_as_csv_is_the_website_s(server: Server, run: Run) -> None:
    server.on("GET", BOARD, httpx.Response(200, content=b"rank,team\r\n1,Alices\r\n"))
    assert run("board", "digits", "-v").out == "rank,team\r\n1,Alices\r\n"
    assert run("board", "digits", "-v", "--search", "x").code == 2


def test_a_watched_board_outlives_a_server_that_is_away(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    busy = problem(429, "throttled", "Too many requests.")
    busy.headers["retry-after"] = "40"
    server.on("GET", BOARD, httpx.ConnectError("away"), busy, page(ROW, me=MINE))
    ran = run("board", "digits", "--watch")
    assert (ran.code, pauses) == (130, [15.0, 40.0, 15.0])
    assert "Alices" in ran.out


def test_rules_are_printed(server: Server, run: Run) -> None:
    server.on("GET", "competitions/digits/", ok(DIGITS | {"rules": "# Rules\n\nBe kind."}))
    assert run("rules", "digits").out == "# Rules\n\nBe kind.\n"


def test_a_page_is_opened_in_the_browser(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_browser)
    assert run("open", "digits", "--page", "submit").code == 0
    assert opened == ["https://holdfast.example/c/digits/submit/"]
    assert server.requests == []


def test_notices_are_listed_and_marked_as_read(server: Server, run: Run) -> None:
    notice = {
        "id": "n1", "kind": "result", "competition": "digits", "title": "Submission 3 is scored",
        "text": "New best.", "url": "https://holdfast.example/c/digits/submissions/3/",
        "created_at": "2026-11-20T10:00:00Z", "read_at": None,
    }  # fmt: skip
    server.on("GET", "me/notices/", page(notice, count_unread=1))
    server.on("POST", "me/notices/read/", ok({"count_unread": 0}))
    ran = run("notices", "--unread", "--read")
    assert "Submission 3 is scored" in ran.out
    assert server.requests[0].url.params["unread"] == "true"
    assert json.loads(server.last.content) == {"ids": ["n1"]}
    assert "0 left to read" in ran.err


def test_joining_with_the_rules_accepted(server: Server, run: Run) -> None:
    server.on("POST", "competitions/digits/join/", ok(TEAM, 201))
    ran = run("join", "digits", "--team", "Alices", "--accept-rules")
    assert ran.out == "You have joined digits as team Alices.\n"
    assert json.loads(server.last.content) == {"accept_rules": True, "team_name": "Alices"}


def test_an_invitation_is_given_as_its_link(server: Server, run: Run) -> None:
    server.on("POST", "competitions/digits/join/", ok(TEAM, 201))
    link = "https://holdfast.example/c/digits/join/the-token/"
    run("join", "digits", "--invitation", link, "--accept-rules")
    assert json.loads(server.last.content) == {"accept_rules": True, "invitation": "the-token"}


def test_the_team_shows_what_it_may_still_submit(server: Server, run: Run) -> None:
    server.on("GET", "competitions/digits/team/", ok(TEAM))
    ran = run("team", "digits")
    assert "alice (captain), bob" in ran.out
    assert "3 of 5 submissions left today." in ran.out


def test_a_team_is_renamed(server: Server, run: Run) -> None:
    server.on("PATCH", "competitions/digits/team/", ok(TEAM | {"name": "New"}))
    assert "New" in run("team", "digits", "--rename", "New").out
    assert json.loads(server.last.content) == {"name": "New"}
