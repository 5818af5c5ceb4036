"""Submitting, waiting for the result, and looking at it."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import output
from tests.holdfast.conftest import Answer, Ran, Run, Server, ok, page, problem

SENT = "competitions/digits/submissions/"
ONE = f"{SENT}3/"
QUEUED: dict[str, Any] = {
    "number": 3, "user": "alice", "file_name": "p.csv", "size": 12, "sha256": "ab" * 32,
    "message": "first", "status": "queued", "is_final": False, "summary": "Received.",
    "problems": [], "problem_count": 0, "release": None,
    "created_at": "2026-11-20T10:00:00Z", "finished_at": None,
}  # fmt: skip
NEW = QUEUED | {"limits": {"summary": "4 of 5 submissions left today."}}
RELEASED = QUEUED | {
    "status": "released",
    "is_final": True,
    "summary": "New best: 0.94.",
    "release": {
        "kind": "improved", "score": 0.94, "score_text": "0.94",
        "sampling": {"low": 0.9, "high": 0.97}, "certificate": {"low": 0.78, "high": 1.0},
        "guarantee_text": "±0.16",
    },
}  # fmt: skip
REJECTED = QUEUED | {
    "status": "rejected",
    "is_final": True,
    "summary": "Not accepted.",
    "problems": [
        {"code": "unknown_label", "message": "'cat ' is not one of 0-9.", "line": 18,
         "column": "label", "value": "cat ", "expected": "one of 0-9"},
    ],
    "problem_count": 4,
}  # fmt: skip
REVEALED = RELEASED | {
    "final": {
        "number": 3, "is_chosen": True, "score": 0.9375, "score_text": "0.9375",
        "interval": {"low": 0.871234, "high": 0.981234},
    },
}  # fmt: skip
FAILED = QUEUED | {"status": "failed", "is_final": True, "summary": "Something failed."}


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, signed_in: None) -> Clock:
    fake = Clock()
    monkeypatch.setattr("holdfast.waiting.time.sleep", fake.sleep)
    monkeypatch.setattr("holdfast.waiting.time.monotonic", lambda: fake.now)
    return fake


@pytest.fixture
def predictions(environment: Path) -> Path:
    path = environment / "p.csv"
    path.write_bytes(b"id,label\n1,0\n")
    return path


Submit = Callable[..., Ran]


@pytest.fixture
def submit(server: Server, run: Run, predictions: Path) -> Submit:
    """Return a function that submits p.csv; `then` is what the server reports of it later."""

    def submit(*words: str, then: Sequence[Answer] = ()) -> Ran:
        server.on("POST", SENT, ok(NEW, 201))
        server.on("GET", ONE, *then)
        return run("submit", "digits", "-f", "p.csv", *words)

    return submit


@pytest.mark.parametrize(
    "command",
    [
        ["competitions", "submit", "digits", "-f", "p.csv", "-m", "first"],
        ["c", "submit", "-c", "digits", "--file", "p.csv", "--message", "first"],
        ["submit", "-f", "p.csv", "-m", "first", "digits"],
    ],
)
def test_a_file_is_sent_the_way_kaggle_does(
    command: list[str], server: Server, run: Run, predictions: Path
) -> None:
    server.on("POST", SENT, ok(NEW, 201))
    ran = run(*command)
    assert ran.code == 0
    assert ran.out == ("Submission 3 to digits is received.\n4 of 5 submissions left today.\n")
    body = server.last.content
    assert b'name="file"; filename="p.csv"' in body
    assert predictions.read_bytes() in body
    assert b'name="message"\r\n\r\nfirst' in body


def test_quiet_says_nothing(submit: Submit) -> None:
    ran = submit("-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_claim_goes_with_the_file(server: Server, submit: Submit) -> None:
    submit("--claim", "0.125")
    assert b'name="claimed_score"\r\n\r\n0.125' in server.last.content


def test_only_the_file_s_name_is_sent_not_its_folder(
    server: Server, run: Run, predictions: Path
) -> None:
    server.on("POST", SENT, ok(NEW, 201))
    run("submit", "digits", "-f", str(predictions))
    assert b'filename="p.csv"' in server.last.content


def test_an_empty_file_is_caught_before_it_is_sent(
    server: Server, run: Run, predictions: Path
) -> None:
    predictions.write_bytes(b"")
    ran = run("submit", "digits", "-f", "p.csv")
    assert (ran.code, ran.err) == (1, "Error: p.csv is empty. Nothing was sent.\n")
    assert not server.requests


def test_a_folder_is_no_file(server: Server, run: Run, environment: Path) -> None:
    (environment / "folder").mkdir()
    ran = run("submit", "digits", "-f", "folder")
    assert ran.code == 2
    assert not server.requests


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "deadline_passed"), (403, "not_a_member"), (413, "file_too_large"),
        (429, "daily_limit_reached"), (404, "not_found"),
    ],
)  # fmt: skip
def test_a_refused_file_is_a_failure_with_the_server_s_reason(
    status: int, code: str, server: Server, run: Run, predictions: Path
) -> None:
    server.on("POST", SENT, problem(status, code, "The server's own reason."))
    ran = run("submit", "digits", "-f", "p.csv", "--wait")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[0] == "Error: The server's own reason."


def test_after_a_broken_upload_the_advice_is_to_look_first(
    server: Server, run: Run, predictions: Path
) -> None:
    server.on("POST", SENT, httpx.ReadTimeout("slow"))
    ran = run("submit", "digits", "-f", "p.csv")
    assert ran.code == 1
    assert "look before you send it again" in ran.err
    assert [request.method for request in server.requests] == ["GET", "POST"]


def test_a_file_that_was_sent_before_is_sent_with_a_warning(
    server: Server, submit: Submit, predictions: Path
) -> None:
    same = QUEUED | {"number": 2, "sha256": hashlib.sha256(predictions.read_bytes()).hexdigest()}
    server.on("GET", SENT, page(same))
    ran = submit()
    assert ran.code == 0
    assert "Warning: p.csv has the same content as your team's submission 2." in ran.err


@pytest.mark.parametrize("wait", [["--wait"], ["--wait", "30"], ["--wait=30"]])
def test_waiting_ends_with_the_result_in_words(wait: list[str], submit: Submit) -> None:
    ran = submit(*wait, then=[ok(QUEUED), ok(QUEUED | {"status": "scoring"}), ok(RELEASED)])
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "New best: 0.94. Guarantee: ±0.16."


def test_an_answer_without_a_guarantee_tells_of_none(submit: Submit) -> None:
    release = RELEASED["release"] | {"certificate": None, "guarantee_text": "none"}
    answer = RELEASED | {"summary": "Not better.", "release": release}
    ran = submit("--wait", then=[ok(answer)])
    assert ran.out.splitlines()[-1] == "Not better."


def test_wait_may_stand_before_the_competition(server: Server, run: Run, predictions: Path) -> None:
    server.on("POST", SENT, ok(NEW | {"status": "released"}, 201))
    assert run("submit", "-f", "p.csv", "--wait", "digits").code == 0


def test_a_rejected_file_is_a_failure_with_its_places(submit: Submit) -> None:
    ran = submit("--wait", then=[ok(REJECTED)])
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "Error: Submission 3: Not accepted.",
        "  Line 18, column `label`: 'cat ' is not one of 0-9.",
        "  4 in all.",
    ]


def test_a_failed_submission_is_a_failure(submit: Submit) -> None:
    ran = submit("--wait", then=[ok(FAILED)])
    assert (ran.code, ran.err) == (1, "Error: Submission 3: Something failed.\n")


def test_patience_ends_with_how_to_look_later(clock: Clock, submit: Submit) -> None:
    ran = submit("--wait", "10", "--poll-interval", "3", then=[ok(QUEUED)])
    assert ran.code == 1
    assert "Submission 3 is still queued after 10 seconds." in ran.err
    assert "holdfast submission digits 3" in ran.err
    assert clock.pauses == pytest.approx([0.05 * 1.5**n for n in range(11)])


@pytest.mark.parametrize(
    "away",
    [
        httpx.ConnectError("refused"),
        httpx.Response(502, text="Bad gateway"),
        problem(429, "throttled", "Too many requests."),
        problem(503, "unavailable", "The site can't reach its database or its files."),
    ],
)
def test_a_server_that_is_away_for_a_moment_is_waited_for(
    away: httpx.Response | Exception, submit: Submit
) -> None:
    assert submit("--wait", then=[away, ok(RELEASED)]).code == 0


def test_a_server_that_asks_for_patience_gets_it(clock: Clock, submit: Submit) -> None:
    patience = problem(429, "throttled", "Too many requests.")
    patience.headers["Retry-After"] = "17"
    submit("--wait", then=[patience, ok(RELEASED)])
    assert clock.pauses == [0.05, 17]


def test_a_long_queue_is_asked_for_less_often(clock: Clock, submit: Submit) -> None:
    long = QUEUED | {"wait": {"place": 90, "seconds": 30}}
    submit("--wait", then=[ok(long), ok(RELEASED)])
    assert clock.pauses == [0.05, 10]


def test_a_token_that_ends_while_waiting_is_a_failure(submit: Submit) -> None:
    refused = problem(401, "not_authenticated", "The token is not valid.")
    assert submit("--wait", then=[refused]).code == 1


def test_json_of_a_submit_is_the_submission(submit: Submit) -> None:
    ran = submit("--wait", "--format", "json", then=[ok(RELEASED)])
    assert json.loads(ran.out) == RELEASED


def test_json_of_a_rejected_submit_is_printed_and_fails(submit: Submit) -> None:
    ran = submit("--wait", "--format", "json", then=[ok(REJECTED)])
    assert ran.code == 1
    assert json.loads(ran.out)["problem_count"] == 4


@pytest.mark.parametrize("command", [["submissions", "digits"], ["c", "submissions", "digits"]])
def test_submissions_are_listed(command: list[str], server: Server, run: Run) -> None:
    server.on("GET", SENT, page(RELEASED, REJECTED))
    out = run(*command).out
    for text in ("improved", "0.94", "rejected", "p.csv", "first"):
        assert text in out


def test_submissions_as_csv_have_the_released_score(server: Server, run: Run) -> None:
    server.on("GET", SENT, page(RELEASED, QUEUED))
    rows = list(csv.DictReader(StringIO(run("submissions", "digits", "-v").out)))
    assert [(row["kind"], row["score_text"]) for row in rows] == [("improved", "0.94"), ("", "")]


@pytest.mark.parametrize("words", [["digits", "3"], ["3", "-c", "digits"], ["-c", "digits", "3"]])
def test_one_submission_is_shown(words: list[str], server: Server, run: Run) -> None:
    server.on("GET", ONE, ok(RELEASED))
    ran = run("submission", *words)
    assert ran.code == 0
    assert RELEASED["summary"] in ran.out


def test_a_rejected_submission_is_shown_with_its_problems(server: Server, run: Run) -> None:
    server.on("GET", ONE, ok(REJECTED))
    ran = run("submission", "digits", "3")
    assert ran.code == 0
    assert "  Line 18, column `label`" in ran.out


def test_waiting_for_a_submission_that_is_rejected_fails(server: Server, run: Run) -> None:
    server.on("GET", ONE, ok(QUEUED), ok(REJECTED))
    assert run("submission", "digits", "3", "--wait").code == 1


def test_an_upload_is_streamed_not_read_at_once(
    predictions: Path, monkeypatch: pytest.MonkeyPatch, submit: Submit
) -> None:
    sizes: list[int] = []

    @contextmanager
    def counted(*_: object) -> Iterator[Callable[[int], object]]:
        yield sizes.append

    monkeypatch.setattr(output, "progress", counted)
    predictions.write_bytes(b"x" * 3_000_000)
    assert submit().code == 0
    assert sum(sizes) == 3_000_000
    assert max(sizes) <= 1 << 20


def test_after_the_reveal_a_submission_has_its_exact_score(server: Server, run: Run) -> None:
    server.on("GET", ONE, ok(REVEALED))
    shown = run("submission", "digits", "3").out
    assert re.search(r"Final +0\.9375", shown)
    assert re.search(r"Final low +0\.87123", shown)
    assert re.search(r"Score +0\.94", shown)


def test_a_submission_that_was_not_entered_has_none(server: Server, run: Run) -> None:
    server.on("GET", ONE, ok(RELEASED))
    assert "Final" not in run("submission", "digits", "3").out


def test_the_list_has_the_exact_scores_too(server: Server, run: Run) -> None:
    server.on("GET", SENT, page(REVEALED, RELEASED | {"number": 2, "final": None}))
    rows = list(csv.DictReader(run("submissions", "digits", "--csv").out.splitlines()))
    assert [row["final_score_text"] for row in rows] == ["0.9375", ""]
