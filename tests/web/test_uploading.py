"""Uploading by a plain form and by the script, and following a file until it is answered."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from leaderboard.models import Status, Submission
from leaderboard.platform.throttles import UploadThrottle
from leaderboard.platform.uploads import HEAD_ARRIVED
from leaderboard.tasks import score_submission
from tests.cast import World, predictions, set_round
from tests.web.pages import browser, text

JSON = {"Accept": "application/json"}
URL = "/c/digits/submit/"


def file(content: bytes | None = None) -> SimpleUploadedFile:
    return SimpleUploadedFile("mine.csv", predictions() if content is None else content)


def test_a_plain_form_leads_to_the_submission(world: World) -> None:
    world.join(world.alice)
    response = browser(world.alice).post(URL, {"file": file(), "message": "first"})
    assert response.status_code == 302
    assert response["Location"] == "/c/digits/submissions/1/"
    assert Submission.objects.get().message == "first"


def test_the_script_gets_the_address_as_json(world: World) -> None:
    world.join(world.alice)
    response = browser(world.alice).post(URL, {"file": file()}, headers=JSON)
    assert response.status_code == 201
    assert response.json() == {"url": "/c/digits/submissions/1/"}


def test_the_moment_at_which_the_head_came_decides_about_the_deadline(
    world: World, settings: Any
) -> None:
    settings.UPLOAD_SECONDS = 60
    world.join(world.alice)
    now = timezone.now()
    set_round(world.digits, closes_at=now - timedelta(seconds=20))
    arrived: dict[str, Any] = {HEAD_ARRIVED: now.timestamp() - 30}
    post, api = browser(world.alice).post, "/api/v1/competitions/digits/submissions/"
    taken = [post(url, {"file": file()}, headers=JSON, **arrived) for url in (URL, api)]
    assert [each.status_code for each in taken] == [201, 201]
    late = [post(url, {"file": file()}, headers=JSON) for url in (URL, api)]
    assert [each.json()["code"] for each in late] == ["deadline_passed"] * 2


def refuse(world: World, content: bytes | None, **changes: Any) -> Any:
    if changes:
        set_round(world.digits, **changes)
    fields = {} if content is None else {"file": file(content)}
    page = browser(world.alice).post(URL, fields)
    problem = browser(world.alice).post(
        URL, {} if content is None else {"file": file(content)}, headers=JSON
    )
    assert problem.status_code == page.status_code
    assert problem["Content-Type"] == "application/problem+json"
    assert not Submission.objects.exists()
    return page, problem.json()


@pytest.mark.parametrize(
    ("content", "changes", "status", "code", "words"),
    [
        (None, {}, 422, "invalid", "Choose the file with your predictions."),
        (b"", {}, 422, "file_empty", "The file has no bytes in it."),
        (b"x" * 100, {"max_file_bytes": 99}, 413, "file_too_large", "larger than 99 bytes"),
        (
            b"x",
            {"closes_at": timezone.now() - timedelta(minutes=1)},
            403,
            "deadline_passed",
            "The competition closed on",
        ),
        (
            b"x",
            {"opens_at": timezone.now() + timedelta(days=1)},
            403,
            "competition_not_open",
            "The competition is not open yet.",
        ),
    ],
)
def test_a_file_that_is_not_taken_says_why_and_counts_nothing(
    world: World,
    content: bytes | None,
    changes: dict[str, Any],
    status: int,
    code: str,
    words: str,
) -> None:
    world.join(world.alice)
    page, problem = refuse(world, content, **changes)
    assert page.status_code == status
    assert words in text(page)
    assert problem["code"] == code


def test_a_used_up_quota_is_said_above_the_form(world: World) -> None:
    set_round(world.digits, daily_limit=1)
    world.submit(world.join(world.alice))
    response = browser(world.alice).post(URL, {"file": file(predictions([9]))})
    assert response.status_code == 429
    assert "has used its one submission of today" in text(response)
    assert Submission.objects.count() == 1
    assert "0 of 1 left" in text(browser(world.alice).get(URL))


@pytest.mark.parametrize("headers", [{}, JSON])
def test_uploads_that_take_no_quota_count_for_the_throttle(
    headers: dict[str, str], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UploadThrottle, "THROTTLE_RATES", {"upload": "2/min"})
    world.join(world.alice)
    sent = [browser(world.alice).post(URL, {"file": file()}, headers=headers) for _ in range(3)]
    assert [each.status_code for each in sent[:2]] == ([201, 201] if headers else [302, 302])
    assert sent[2].status_code == 429
    assert 1 <= int(sent[2]["Retry-After"]) <= 60
    assert Submission.objects.count() == 2


def test_a_stranger_cannot_upload(world: World) -> None:
    response = browser(world.bob).post(URL, {"file": file()})
    assert response.status_code == 403
    assert "Join the competition first" in text(response)
    assert browser().post(URL, {"file": file()}).status_code == 302
    assert not Submission.objects.exists()


def test_the_page_asks_for_itself_until_the_answer_is_there(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    alice = browser(world.alice)
    waiting = alice.get("/c/digits/submissions/1/")
    assert 'hx-trigger="every 1s"' in waiting.content.decode()
    assert '<noscript><meta http-equiv="refresh"' in waiting.content.decode()
    score_submission(submission_id=submission.pk)
    status = alice.get("/c/digits/submissions/1/status/")
    assert "hx-trigger" not in status.content.decode()
    assert status["Cache-Control"] == "no-store"
    final = alice.get("/c/digits/submissions/1/").content.decode()
    assert "hx-trigger" not in final
    assert 'http-equiv="refresh"' not in final
    assert "htmx" not in final.replace("htmx-config", "")


def test_the_steps_light_up_one_after_the_other(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    url = "/c/digits/submissions/1/"
    alice = browser(world.alice)
    assert "Received done Checked to come" in text(alice.get(url))
    Submission.objects.update(status=Status.SCORING)
    assert "Received done Checked in progress" in text(alice.get(url))
    Submission.objects.update(read_at=timezone.now())
    assert "Checked done Scored in progress" in text(alice.get(url))
    Submission.objects.update(status=Status.QUEUED, read_at=None)
    score_submission(submission_id=submission.pk)
    assert "Scored done Published done" in text(alice.get(url))


def test_the_answer_stands_in_words_beside_the_row_of_the_board(world: World) -> None:
    world.score(world.join(world.alice))
    page = text(browser(world.alice).get("/c/digits/submissions/1/"))
    assert "New best: 1.00." in page
    assert "Your place: 1st" in page


def test_a_rejected_file_is_told_line_by_line(world: World) -> None:
    content = predictions().replace(b"r3,3", b"r3,cat")
    world.score(world.join(world.alice), content)
    response = browser(world.alice).get("/c/digits/submissions/1/")
    page = text(response)
    assert "The file was rejected" in page
    assert "Received done Checked stopped here" in page
    assert (
        "Line Column Value What is wrong Expected 5 label cat &#x27;cat&#x27; is not one of 0-3."
        in page
    )
    assert "Upload the fixed file" in page
    assert "Nothing was counted" in page


def test_what_was_in_the_file_is_only_text(world: World) -> None:
    content = predictions().replace(b"r3,3", b"r3,<script>x</script>")
    world.score(world.join(world.alice), content)
    for url in ("/c/digits/submissions/", "/c/digits/submissions/1/"):
        html = browser(world.alice).get(url).content.decode()
        assert "<script>x" not in html
        assert "&lt;script&gt;x" in html


def test_a_failure_of_ours_does_not_say_what_failed(world: World) -> None:
    submission = world.submit(world.join(world.alice))
    Submission.objects.filter(pk=submission.pk).update(
        status=Status.FAILED, failure="measure: OSError", finished_at=timezone.now()
    )
    page = text(browser(world.alice).get("/c/digits/submissions/1/"))
    assert "Something failed on our side" in page
    assert "OSError" not in page


def test_a_team_lists_its_files_newest_first(world: World) -> None:
    team = world.join(world.alice)
    world.score(team, predictions(range(8, 20)))
    world.score(team)
    page = text(browser(world.alice).get("/c/digits/submissions/"))
    assert page.index("New best: 1.00") < page.index("New best: 0.60")
    assert "18 of 20 uploads left today" in page
