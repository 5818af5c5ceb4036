"""Log lines: who asked and about which submission, and nothing that a value could hide in."""

import json
import logging
import re
import sys
from collections.abc import Iterator

import pytest
from celery.signals import before_task_publish
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from leaderboard import tasks
from leaderboard.celery import app
from leaderboard.models import Submission
from leaderboard.participate import membership
from leaderboard.platform import logs
from tests.cast import World, predictions, upload

SECRET = "0.123456"


class Lines(logging.Handler):
    """Keeps what would have been written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logs.JsonFormatter())
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(json.loads(line) for line in self.written)

    def of(self, logger: str) -> list[dict[str, object]]:
        return [line for line in self if line["logger"] == logger]

    @property
    def text(self) -> str:
        return "\n".join(self.written)


@pytest.fixture
def lines() -> Iterator[Lines]:
    """All lines, as LOG_FORMAT=json writes them."""
    handler = Lines()
    access = logging.getLogger("leaderboard.access")
    root = logging.getLogger()
    before = access.level
    access.setLevel(logging.INFO)
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)
    access.setLevel(before)


def record(message: object, *arguments: object, name: str = "test", **more: object) -> str:
    """A line as it is written."""
    made = logging.getLogger(name).makeRecord(
        name, logging.ERROR, __file__, 1, message, arguments, None, extra=more or None
    )
    return logs.JsonFormatter().format(made)


def failed(error: Exception) -> str:
    """The line of an exception that was caught."""
    try:
        raise error
    except Exception:
        made = logging.getLogger("test").makeRecord(
            "test", logging.ERROR, __file__, 1, "It failed.", (), sys.exc_info()
        )
    return logs.JsonFormatter().format(made) + logs.LineFormatter().format(made)


def test_a_line_is_one_json_object_with_time_level_logger_and_message() -> None:
    text = record("two\nlines of %s", "text")
    line = json.loads(text)
    assert "\n" not in text
    assert line["message"] == "two\nlines of text"
    assert (line["level"], line["logger"]) == ("ERROR", "test")
    assert line["time"].endswith("Z")


def test_an_exception_is_its_type_and_the_places_it_came_through() -> None:
    text = failed(ValueError(f"the mean is {SECRET}"))
    assert "ValueError" in text
    assert "tests/web/test_logs.py" in text
    assert SECRET not in text


def test_neither_does_an_exception_s_cause_say_more() -> None:
    error = RuntimeError("outer")
    error.__cause__ = ValueError(f"the mean is {SECRET}")
    text = failed(error)
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert SECRET not in text


def test_an_exception_among_the_arguments_is_its_type() -> None:
    assert (
        json.loads(record("It said %r.", ValueError(SECRET)))["message"] == "It said 'ValueError'."
    )


def test_an_exception_as_the_message_is_its_type() -> None:
    assert json.loads(record(ValueError(SECRET)))["message"] == "ValueError"


def test_what_the_system_refused_is_said() -> None:
    assert "No space left on device" in failed(OSError(28, "No space left on device"))


def test_a_message_that_does_not_fit_its_arguments_is_written_without_them() -> None:
    assert json.loads(record("%d rows", SECRET))["message"] == "%d rows"


def test_gunicorn_s_account_of_a_broken_request_leaves_out_what_was_sent() -> None:
    said = record("Invalid request from ip=1.2.3.4: 'GET /x?token=abc'", name="gunicorn.error")
    assert "abc" not in said
    uri = record("Error handling request %s", "/c/digits/?token=abc", name="gunicorn.error")
    assert "abc" not in uri


def test_an_answer_carries_the_request_s_id(client: Client, db: None, lines: Lines) -> None:
    answer = client.get("/how-it-works/", headers={"X-Request-ID": "proxy-1234"})
    assert answer.headers["X-Request-ID"] == "proxy-1234"
    (line,) = lines.of("leaderboard.access")
    assert line["request_id"] == "proxy-1234"
    assert (line["method"], line["route"], line["status"]) == ("GET", "how-it-works/", 200)


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "with space", 'quo"te-12345', "é" * 10])
def test_an_id_that_is_not_sane_is_replaced(client: Client, given: str) -> None:
    answered = client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert answered != given
    assert len(answered) == 32


def test_each_request_gets_an_id_of_its_own(client: Client) -> None:
    ids = {client.get("/healthz").headers["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3


def test_what_load_balancers_ask_is_not_logged(client: Client, lines: Lines) -> None:
    client.get("/healthz")
    assert lines.of("leaderboard.access") == []


def test_a_person_is_a_number(client: Client, world: World, lines: Lines) -> None:
    client.force_login(world.alice)
    client.get("/account/")
    (line,) = lines.of("leaderboard.access")
    assert line["user_id"] == world.alice.pk
    assert "alice" not in lines.text


def test_an_upload_s_lines_say_its_submission(client: Client, world: World, lines: Lines) -> None:
    world.join(world.alice)
    client.force_login(world.alice)
    client.post("/c/digits/submit/", {"file": upload(predictions())})
    submission = Submission.objects.get()
    (line,) = lines.of("leaderboard.access")
    assert line["submission_id"] == submission.pk
    assert line["competition"] == "digits"
    (accepted,) = lines.of("leaderboard.pipeline.intake")
    assert (accepted["request_id"], accepted["submission_id"]) == (
        line["request_id"],
        submission.pk,
    )


def test_the_lines_of_another_request_do_not(client: Client, world: World, lines: Lines) -> None:
    world.join(world.alice)
    client.force_login(world.alice)
    client.post("/c/digits/submit/", {"file": upload(predictions())})
    client.get("/c/digits/leaderboard/")
    assert "submission_id" not in lines.of("leaderboard.access")[-1]


def test_an_invitation_s_token_is_in_no_line(client: Client, world: World, lines: Lines) -> None:
    team = world.join(world.alice)
    invitation = membership.invite(team=team, user=world.alice)
    client.force_login(world.bob)
    client.get(f"/c/digits/join/{invitation.token}/?next=/{invitation.token}")
    client.get(f"/c/elsewhere/join/{invitation.token}/")
    client.get(f"/c/digits/join/{invitation.token}/”")  # pasted with a quotation mark
    assert lines.of("leaderboard.access")[0]["route"] == "c/<slug:slug>/join/<slug:token>/"
    assert lines.of("django.request") != []
    assert invitation.token not in lines.text


def _broken(request: HttpRequest) -> HttpResponse:
    raise ValueError(f"the label is {SECRET}")


def _paused(request: HttpRequest) -> HttpResponse:
    return HttpResponse("The competition is paused.", status=503)


urlpatterns = [path("broken/", _broken), path("paused/", _paused)]


def test_a_page_that_fails_says_where_but_no_value(
    client: Client, settings: Settings, lines: Lines
) -> None:
    settings.ROOT_URLCONF = __name__
    client.raise_request_exception = False
    client.get("/broken/", headers={"X-Request-ID": "request-1"})
    (line,) = lines.of("django.request")
    assert line["request_id"] == "request-1"
    assert "ValueError" in lines.text
    assert "_broken" in lines.text
    assert SECRET not in lines.text


def test_a_refusal_that_is_no_failure_is_one_warning_with_the_request_s_id(
    client: Client, settings: Settings, lines: Lines
) -> None:
    settings.ROOT_URLCONF = __name__
    client.get("/paused/", headers={"X-Request-ID": "request-1"})
    (line,) = lines
    assert (line["logger"], line["level"]) == ("leaderboard.access", "WARNING")
    assert (line["request_id"], line["status"]) == ("request-1", 503)


def test_a_submission_s_way_through_a_worker_is_logged_without_a_score(
    world: World, lines: Lines
) -> None:
    submission = world.submit(world.join(world.alice), predictions([9, 10, 11]))
    tasks.score_submission.apply(kwargs={"submission_id": submission.pk})
    (line,) = lines.of("leaderboard.tasks")
    assert line["message"] == f"Submission {submission.pk} is released."
    assert (line["submission_id"], line["task"]) == (submission.pk, "score_submission")
    assert not re.search(r"\d\.\d", re.sub(r'"time": "[^"]*"', "", lines.text))


def test_what_escapes_a_task_is_a_type_and_a_place(
    world: World, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    """The place where a failure is written down fails itself, which Celery sees and logs."""

    def broken(*_: object) -> None:
        raise ValueError(f"the holdout mean is {SECRET}")

    submission = world.submit(world.join(world.alice))
    monkeypatch.setattr(tasks, "measure", broken)
    monkeypatch.setattr(tasks, "_failure", broken)
    result = tasks.score_submission.apply(kwargs={"submission_id": submission.pk})
    assert isinstance(result.result, logs.Broken)
    assert result.result.__context__ is None
    assert SECRET not in f"{result.result!r}{result.traceback}{lines.text}"
    (said,) = lines.of("celery.app.trace")
    assert said["submission_id"] == submission.pk


def test_what_celery_says_of_any_task_s_exception_has_no_values(lines: Lines) -> None:
    def broken() -> None:
        raise ValueError(f"the holdout mean is {SECRET}")

    task = app.task(name="tests.broken")(broken)
    task.apply()
    app.tasks.unregister("tests.broken")
    (said,) = lines.of("celery.app.trace")
    assert "ValueError" in str(said["message"])
    assert SECRET not in lines.text


def test_a_request_s_id_travels_with_the_message() -> None:
    sent: list[str | None] = []

    def look(headers: dict[str, str], **_: object) -> None:
        sent.append(headers.get("request_id"))

    before_task_publish.connect(look)
    with logs.context(request_id="request-1"):
        app.send_task("leaderboard.tasks.sweep")
    app.send_task("leaderboard.tasks.sweep")
    before_task_publish.disconnect(look)
    assert sent == ["request-1", None]
