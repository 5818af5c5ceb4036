"""Error pages say what happened and what can be done."""

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.views.defaults import bad_request, permission_denied, server_error

from tests.cast import World
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


def test_too_many_requests_have_a_page() -> None:
    assert "Wait a minute" in render_to_string("429.html")


@pytest.mark.parametrize("path", ["/c/digits/leaderboard/?team=%00", "/c/digits/data/a%00b"])
def test_an_address_with_a_nul_is_refused(world: World, path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 400
    assert "This request can’t be read" in text(response)


def test_an_api_address_with_a_nul_is_a_problem(world: World) -> None:
    response = Client().get("/api/v1/competitions/digits/files/a%00b/")
    assert (response.status_code, response.json()["code"]) == (400, "malformed")
    assert response["Content-Type"] == "application/problem+json"
