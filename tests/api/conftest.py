"""Clients of the API: anonymous, or one person with a token."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from leaderboard.models import User
from leaderboard.participate import tokens
from tests.cast import predictions

API = "/api/v1/"
DIGITS = f"{API}competitions/digits/"
As = Callable[[User], APIClient]


@pytest.fixture(autouse=True)
def fresh_throttles() -> Iterator[None]:
    """Forget what other tests asked, so that none is throttled for it."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def anonymous() -> APIClient:
    return APIClient(raise_request_exception=False)


@pytest.fixture
def as_() -> As:
    """Make clients with a token of a person."""

    def make(user: User) -> APIClient:
        client = APIClient(raise_request_exception=False)
        token = tokens.issue(user, days=1).text
        client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
        return client

    return make


def file(content: bytes | None = None, name: str = "predictions.csv") -> SimpleUploadedFile:
    """Wrap a prediction file as a form sends it; all right by default."""
    return SimpleUploadedFile(name, predictions() if content is None else content)


def send(client: APIClient, content: bytes | None = None, **fields: Any) -> Any:
    """Submit a prediction file to `digits`."""
    body = {"file": file(content), **fields}
    return client.post(f"{DIGITS}submissions/", body, format="multipart")
