"""A participant's terminal and a server with prepared answers, without a network."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.cache import cache

from holdfast import cli, connection
from leaderboard.models import Submission
from leaderboard.participate import tokens
from leaderboard.pipeline import intake
from leaderboard.tasks import score_submission
from tests.cast import World

URL = "https://holdfast.example"
Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


class Unread(httpx.SyncByteStream):
    """A body that nobody may begin to read."""

    def __iter__(self) -> Iterator[bytes]:
        raise AssertionError("read")


class Endless(httpx.SyncByteStream):
    """A body without an end."""

    def __iter__(self) -> Iterator[bytes]:
        return repeat(b" " * 2**20)


@dataclass
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass
class Server:
    """Answers by method and path below /api/v1/; a list of answers is given one after the other."""

    answers: dict[tuple[str, str], Answer | list[Answer]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    def on(self, method: str, path: str, *answers: Answer) -> None:
        self.answers[method, path] = list(answers)

    def handle(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        key = (request.method, request.url.path.removeprefix("/api/v1/"))
        waiting = self.answers.get(key)
        if not isinstance(waiting, list):
            return problem(404, "not_found", "There is no such page.")
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    @property
    def last(self) -> httpx.Request:
        return self.requests[-1]


def ok(body: Any, status: int = 200) -> httpx.Response:
    """Return a success with a JSON body."""
    return httpx.Response(status, json=body)


def problem(status: int, code: str, detail: str, **more: Any) -> httpx.Response:
    """Return a problem document as the server sends it."""
    body = {"type": "about:blank", "title": "No", "status": status, "detail": detail, "code": code}
    return httpx.Response(
        status, json=body | more, headers={"content-type": "application/problem+json"}
    )


def page(*rows: Any, count: int | None = None, more: bool = False, **extra: Any) -> httpx.Response:
    """Return one page of a list."""
    body = {
        "count": len(rows) if count is None else count,
        "next": "more" if more else None,
        "previous": None,
        "results": list(rows),
    }
    return ok(body | extra)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give each test its own configuration and an empty current folder."""
    for name in ("HOLDFAST_URL", "HOLDFAST_TOKEN", "XDG_CONFIG_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOLDFAST_CONFIG", str(tmp_path / "config" / "config.json"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", URL)
    monkeypatch.setenv("HOLDFAST_TOKEN", "a-token")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Replace the network by a server, for every command in this test."""
    fake = Server()
    monkeypatch.setattr(connection, "transport", lambda: httpx.MockTransport(fake.handle))
    return fake


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `holdfast` with arguments, and `stdin` as what comes from a pipe."""

    def run(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "argv", ["holdfast", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run


@pytest.fixture
def scored_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Score every submission the moment it is accepted."""

    def enqueue(submission: Submission) -> None:
        score_submission(submission_id=submission.pk)

    monkeypatch.setattr(intake, "enqueue_accepted", enqueue)
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def stage(scored_at_once: None, transactional_db: None, world: World, live_server: Any) -> World:
    """Serve the world over HTTP."""
    return world


@pytest.fixture
def alice(stage: World, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    """Alice at her terminal, signed in, in a team."""
    stage.join(stage.alice, "Alices")
    monkeypatch.setenv("HOLDFAST_URL", live_server.url)
    monkeypatch.setenv("HOLDFAST_TOKEN", tokens.issue(stage.alice, days=1).text)
    return stage
