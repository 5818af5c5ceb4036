"""Clients of organizers, with tokens for that alone, and what they send."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from leaderboard.models import Scope
from tests.api.conftest import API
from tests.api.test_scopes import token_client
from tests.cast import LADDER, ROWS, World, solution
from tests.snapshots import kept

ALL = f"{API}organize/competitions/"
DIGITS = f"{ALL}digits/"
COLUMNS = {
    "id_column": "id",
    "columns": [{"name": "label", "kind": "label", "classes": ["0", "1", "2", "3"]}],
}
SCORING = {"metric": "accuracy", "mechanism": "ladder", "mechanism_parameters": LADDER}
SAMPLE = ("id,label\n" + "".join(f"r{row},0\n" for row in range(ROWS))).encode()
TRAIN = ("x,label\n" + "".join(f"{row},{row % 4}\n" for row in range(ROWS))).encode()

Send = Callable[..., Any]


@pytest.fixture
def organizer(request: pytest.FixtureRequest, world: World) -> APIClient:
    """Return a client of who owns `digits`."""
    if "draft" in request.fixturenames:
        request.getfixturevalue("draft")  # puts back all tables, that of tokens as well
    return token_client(world.organizer, Scope.ORGANIZE)


@pytest.fixture
def draft(world: World) -> str:
    """Make a draft that lacks nothing but its opening; return its address."""
    _make_draft(world)
    return f"{ALL}new-one/"


@kept
def _make_draft(world: World) -> None:
    organizer = token_client(world.organizer, Scope.ORGANIZE)
    texts = {"description": "# Overview", "rules": "Play fair."}
    body = {"title": "New", "slug": "new-one", "closes_at": "2099-01-01T00:00:00Z", **texts}
    assert organizer.post(ALL, body, format="json").status_code == 201
    where = f"{ALL}new-one/"
    answers = [
        organizer.put(f"{where}columns/", COLUMNS, format="json"),
        organizer.post(f"{where}files/", file("sample_submission.csv", SAMPLE, role="sample")),
        organizer.post(f"{where}files/", file("train.csv", TRAIN, role="train")),
        organizer.put(f"{where}scoring/", SCORING, format="json"),
        organizer.put(f"{where}solution/", secret(), format="multipart"),
    ]
    assert [each.status_code for each in answers] == [200, 201, 201, 200, 200]


def file(name: str, content: bytes, **fields: Any) -> dict[str, Any]:
    """Return a form with a public file."""
    return {"file": SimpleUploadedFile(name, content), **fields}


def secret(content: bytes | None = None, **fields: Any) -> dict[str, Any]:
    """Return a form with a solution; that of the small competition by default."""
    labels = solution() if content is None else content
    return {"solution": SimpleUploadedFile("solution.csv", labels), **fields}


def errors(response: Any) -> dict[str, str]:
    """Return the messages of a refusal by their fields."""
    return {each["field"]: each["message"] for each in response.json()["errors"]}
