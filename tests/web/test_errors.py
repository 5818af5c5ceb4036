"""Error pages say what happened and what can be done."""

import errno
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.views.defaults import bad_request, permission_denied, server_error
from pytest_django import Settings

from leaderboard import queries
from leaderboard.models import Submission
from leaderboard.platform.sessions import SessionStore
from tests.cast import World, predictions
from tests.web.pages import text


def test_a_wrong_address_is_a_page(world: World) -> None:
    response = Client().get("/c/digitz/")
    assert response.status_code == 404
    assert "The address may be misspelt" in text(response)


def test_a_form_without_its_token_explains_itself(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/account/login/", {"login": "alice", "password": "x"})
    assert response.status_code == 403
    assert "The form has expired" in text(response)


@pytest.mark.parametrize(
    ("view", "status", "title"),
    [
        (bad_request, 400, "This request can’t be read"),
        (permission_denied, 403, "This is not for your account"),
    ],
)
def test_refusals_of_the_framework_have_pages(
    rf: RequestFactory, view: object, status: int, title: str
) -> None:
    response = view(rf.get("/"), Exception())  # type: ignore[operator]  # views of Django
    assert response.status_code == status
    assert title in text(response)


def test_a_failure_has_a_page_that_needs_nothing_else(rf: RequestFactory) -> None:
    response = server_error(rf.get("/"))
    assert response.status_code == 500
    assert "Nothing that you sent before is lost" in text(response)


def outage(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    """What the leaderboard's page answers while this happens to it."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(queries, "board_facts", fail)
    return Client(raise_request_exception=False).get("/c/digits/leaderboard/")


def test_without_database_a_page_says_when_to_come_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = outage(monkeypatch, OperationalError("no route to 10.0.0.7"))
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "Nothing that was accepted is lost" in text(response)
    assert "10.0.0.7" not in text(response)


def test_other_failures_stay_failures(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    response = outage(monkeypatch, RuntimeError("a mistake of ours"))
    assert response.status_code == 500
    assert "Something failed on our side" in text(response)


def test_a_file_that_finds_no_space_on_its_way_in_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    world.join(world.alice)
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 0  # large files go through the disk
    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", full)
    client = Client(raise_request_exception=False)
    client.force_login(world.alice)
    body = {"file": SimpleUploadedFile("mine.csv", predictions())}
    response = client.post("/c/digits/submit/", body)
    assert response.status_code == 507
    assert "no space left on the server" in text(response)
    assert not Submission.objects.exists()


def test_too_many_requests_have_a_page() -> None:
    assert "wait a minute" in render_to_string("429.html")


@pytest.mark.parametrize("path", ["/c/digits/leaderboard/?team=%00", "/c/digits/data/a%00b"])
def test_an_address_with_a_nul_is_refused(world: World, path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 400
    assert "This request can’t be read" in text(response)


@pytest.mark.parametrize("key", ["abcdefgh\0", '"abcdefgh\\000"', "' OR 1=1 --"])
def test_a_cookie_that_names_no_session_is_nobodys(world: World, key: str) -> None:
    assert SessionStore(key).session_key is None  # PostgreSQL is not asked for a NUL
    response = Client().get("/c/digits/", headers={"Cookie": f"sessionid={key}"})
    assert response.status_code == 200
    assert "Sign in" in text(response)


def test_an_api_address_with_a_nul_is_a_problem(world: World) -> None:
    response = Client().get("/api/v1/competitions/digits/files/a%00b/")
    assert (response.status_code, response.json()["code"]) == (400, "malformed")
    assert response["Content-Type"] == "application/problem+json"
