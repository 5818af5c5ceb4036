"""Submitting: what is answered, what is told afterwards, what wrong files cost (nothing)."""

import hashlib
import json
from typing import Any

import pytest
from django.core.files.storage import default_storage

from leaderboard.models import Release, Standing, Submission
from leaderboard.tasks import score_submission
from tests.api.conftest import API, DIGITS, As, file, send
from tests.cast import World, ledger_of, make_competition, predictions, set_round


def _lines() -> list[str]:
    return predictions().decode().splitlines()


def _text(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _without(row: int) -> bytes:
    return _text([line for line in _lines() if not line.startswith(f"r{row},")])


def _with(line: int, text: str) -> bytes:
    lines = _lines()
    lines[line - 1] = text
    return _text(lines)


# What a participant may do wrong, and what a rejected submission must say of it.
WRONG: dict[str, tuple[bytes, str]] = {
    "a missing id": (_without(5), "r5"),
    "a duplicate id": (_text([*_lines(), "r5,1"]), "r5"),
    "a duplicate in place of a missing id": (_with(7, "r6,1"), "r6"),
    "an unknown id": (_text([*_lines(), "r999,1"]), "r999"),
    "a misspelt id": (_with(7, "R5,1"), "R5"),
    "a wrong header": (_with(1, "id,prediction"), "prediction"),
    "a missing column": (_text([line.split(",")[0] for line in _lines()]), "label"),
    "an extra column": (_text([f"{line},1" for line in _lines()]), "column"),
    "no header": (_text(_lines()[1:]), "header"),
    "header only": (_text(_lines()[:1]), "rows"),
    "not UTF-8": (_with(7, "r5,1").replace(b"r5,1", b"r5,\xff"), "UTF-8"),
    "not a number": (_with(7, "r5,NaN"), "NaN"),
    "infinity": (_with(7, "r5,inf"), "inf"),
    "a label outside the classes": (_with(7, "r5,cat "), "cat "),
    "an empty label": (_with(7, "r5,"), "label"),
    "a binary file": (bytes(range(256)) * 20, ""),
    "a zip file": (b"PK\x03\x04" + bytes(200), ""),
    "a ragged row": (_with(7, "r5,1,2"), "7"),
}


@pytest.fixture
def alice(world: World, as_: As) -> Any:
    world.join(world.alice)
    return as_(world.alice)


def _score(number: int = 1) -> None:
    score_submission(submission_id=Submission.objects.get(number=number).pk)


def _one(alice: Any, number: int = 1) -> Any:
    return alice.get(f"{DIGITS}submissions/{number}/").json()


def test_a_submission_is_accepted_with_its_address_and_limits(alice: Any) -> None:
    response = send(alice, message="first try")
    answer = response.json()
    assert response.status_code == 201
    assert response.headers["Location"].endswith(f"{DIGITS}submissions/1/")
    assert (answer["number"], answer["status"], answer["is_final"]) == (1, "queued", False)
    assert answer["message"] == "first try"
    assert answer["limits"]["daily_left"] == 19
    assert answer["limits"]["summary"] == "19 of 20 submissions left today."
    assert answer["release"] is None


def test_a_released_submission_says_what_was_released(alice: Any) -> None:
    send(alice)
    _score()
    answer = _one(alice)
    assert (answer["status"], answer["is_final"]) == ("released", True)
    assert answer["summary"].startswith("New best: 1.00.")
    assert answer["release"]["kind"] == "improved"
    assert answer["release"]["score"] == 1.0


def test_a_submission_has_these_fields_and_no_others(alice: Any) -> None:
    send(alice)
    _score()
    answer = _one(alice)
    assert set(answer) == {
        "number", "user", "file_name", "size", "sha256", "message", "status", "is_final",
        "summary", "problems", "problem_count", "release", "final", "created_at", "finished_at",
        "takes_quota", "is_practice", "wait", "campaign", "gate",
        "gate_answer", "passed",
    }  # fmt: skip
    assert set(answer["release"]) == {
        "kind", "number", "score", "score_text", "reference_text", "sampling", "certificate",
        "guarantee_text", "runs", "spread", "share_left", "asked", "version", "earlier",
        "is_repeat", "repeats", "created_at",
    }  # fmt: skip


def test_submissions_are_listed_newest_first_in_pages(alice: Any) -> None:
    for _ in range(3):
        send(alice)
    answer = alice.get(f"{DIGITS}submissions/", {"page_size": 2}).json()
    assert [row["number"] for row in answer["results"]] == [3, 2]
    assert answer["count"] == 3
    assert [row["number"] for row in alice.get(answer["next"]).json()["results"]] == [1]


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_rejected_with_its_reason_and_costs_nothing(
    case: str, alice: Any, world: World
) -> None:
    content, told = WRONG[case]
    assert send(alice, content).status_code == 201
    _score()
    answer = _one(alice)
    assert answer["status"] == "rejected"
    assert answer["problem_count"] >= len(answer["problems"]) >= 1
    assert told in json.dumps(answer["problems"], ensure_ascii=False)
    assert answer["problems"][0]["message"] in answer["summary"]
    assert "Nothing was counted" in answer["summary"]
    assert answer["release"] is None
    assert alice.get(f"{DIGITS}team/").json()["limits"]["daily_left"] == 20
    assert not Release.objects.exists()
    assert not Standing.objects.exists()
    assert ledger_of(world.digits).asked == 0


def test_problems_have_place_value_and_expectation(alice: Any) -> None:
    send(alice, _with(18, "r16,cat "))
    _score()
    problem = _one(alice)["problems"][0]
    assert (problem["line"], problem["column"], problem["value"]) == (18, "label", "cat ")
    assert problem["expected"]


def test_problems_say_nothing_about_hidden_rows(alice: Any) -> None:
    send(alice, _text(_lines()[:3]))
    _score()
    told = json.dumps(_one(alice)["problems"])
    for word in ("private", "public", "Private", "Public"):
        assert word not in told


@pytest.mark.parametrize("claim", ["nan", "inf", "-inf", "much"])
def test_a_claim_is_a_finite_number(claim: str, alice: Any) -> None:
    response = send(alice, claimed_score=claim)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "claimed_score"


@pytest.mark.parametrize("message", ["x" * 301, "\x00"])
def test_a_message_that_cannot_be_kept_is_refused(message: str, alice: Any) -> None:
    response = send(alice, message=message)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "message"
    assert not Submission.objects.exists()


def test_a_form_without_a_file_is_refused(alice: Any) -> None:
    response = alice.post(f"{DIGITS}submissions/", {"message": "x"}, format="multipart")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "file"


def test_a_refused_upload_stores_nothing(alice: Any, world: World) -> None:
    set_round(world.digits, max_file_bytes=10)
    content = b"id,label\nstored nowhere,1\n"
    assert send(alice, content).status_code == 413
    sha256 = hashlib.sha256(content).hexdigest()
    assert not default_storage.exists(f"submissions/{sha256[:2]}/{sha256}")
    assert not Submission.objects.exists()


def test_a_file_for_another_competition_is_not_taken(alice: Any, world: World) -> None:
    make_competition("letters", world.organizer)
    url = f"{API}competitions/letters/submissions/"
    response = alice.post(url, {"file": predictions()}, format="multipart")
    assert response.status_code == 403
    assert response.json()["code"] == "not_a_member"


def test_a_file_name_is_kept_without_its_folders(alice: Any) -> None:
    body = {"file": file(name="predictions.csv")}
    body["file"].name = "../../etc/passwd"
    answer = alice.post(f"{DIGITS}submissions/", body, format="multipart").json()
    assert "/" not in answer["file_name"]


def test_two_holdouts_with_the_same_releases_give_the_same_answers(world: World, as_: As) -> None:
    """What is not released can't be seen: errors moved among hidden rows change no byte."""
    answers = []
    for person, wrong in ((world.alice, {20, 21}), (world.bob, {30, 31})):
        team = world.join(person, f"team-{person.username}")
        world.score(team, predictions(wrong))
        text = as_(person).get(f"{DIGITS}submissions/1/").json()
        for changing in ("sha256", "user", "created_at", "finished_at"):
            text.pop(changing)
        for changing in ("created_at", "number", "asked", "certificate", "guarantee_text"):
            text["release"].pop(changing)
        answers.append(text)
    assert answers[0] == answers[1]


def test_own_submissions_are_found_annotated_downloaded_and_compared(
    world: World, alice: Any
) -> None:
    for wrong in (range(8, 10), range(8, 13)):
        sent = send(alice, predictions(wrong), message=f"model {len(wrong)}").json()
        score_submission(submission_id=Submission.objects.get(number=sent["number"]).pk)
    url = f"{DIGITS}submissions/"
    found = alice.get(f"{url}?search=model 5&status=released&sort=score").json()
    assert [each["number"] for each in found["results"]] == [2]
    assert alice.get(f"{url}?sort=luck").status_code == 422
    noted = alice.patch(f"{url}1/", {"message": "better"}, format="json")
    assert (noted.status_code, noted.json()["message"]) == (200, "better")
    assert b"".join(alice.get(f"{url}1/file/")) == predictions(range(8, 10))
    compared = alice.get(f"{url}compare/?a=1&b=2").json()
    assert (compared["differing"], compared["rows"]) == (3, 40)
    assert compared["columns"][0] == {
        "name": "label",
        "differing": 3,
        "mean": None,
        "largest": None,
    }
