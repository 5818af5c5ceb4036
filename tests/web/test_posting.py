"""Addresses that take what a form sends lead who only looks to the page with the form."""

from urllib.parse import parse_qs, urlsplit

import pytest

from leaderboard.models import Competition, Visibility
from tests.cast import World
from tests.web.pages import browser, text

FORMS = {
    "/account/tokens/": "/account/",
    "/account/tokens/0123/revoke/": "/account/",
    "/c/digits/rules/accept/": "/c/digits/rules/",
    "/c/digits/join/": "/c/digits/rules/#join",
    "/c/digits/finals/": "/c/digits/submissions/#finals",
    "/c/digits/submissions/1/final/": "/c/digits/submissions/1/",
    "/c/digits/team/name/": "/c/digits/team/",
    "/c/digits/team/invite/": "/c/digits/team/",
    "/c/digits/team/withdraw/": "/c/digits/team/",
}


@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("address", FORMS)
def test_who_looks_comes_to_the_page_with_the_form(world: World, address: str, method: str) -> None:
    assert getattr(browser(world.alice), method)(address)["Location"] == FORMS[address]


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", FORMS)
def test_who_signs_in_on_the_way_comes_back_to_the_page_with_the_form(
    world: World, address: str, method: str
) -> None:
    where = urlsplit(getattr(browser(), method)(address)["Location"])
    assert where.path == "/account/login/"
    assert parse_qs(where.query)["next"] == [FORMS[address]]


def test_what_is_neither_looking_nor_a_form_has_a_page(world: World) -> None:
    response = browser(world.alice).put("/c/digits/team/name/")
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, POST"
    assert "Nothing was changed" in text(response)


def test_an_address_without_a_page_names_the_one_above(world: World) -> None:
    response = browser(world.organizer).get("/organize/new/preview/")
    assert response.status_code == 405
    assert "There is nothing to see here" in text(response)
    assert 'href="/organize/"' in response.content.decode()


@pytest.mark.parametrize(("method", "address"), [("get", "auth/login/"), ("post", "docs/")])
def test_below_the_api_it_is_a_problem(world: World, method: str, address: str) -> None:
    response = getattr(browser(world.alice), method)(f"/api/v1/{address}")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")


def test_what_does_not_exist_for_somebody_has_no_form_either(world: World) -> None:
    Competition.objects.update(visibility=Visibility.HIDDEN)
    assert browser(world.bob).get("/c/digits/team/invite/").status_code == 404


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("finals/start/", "finals/"),
        ("open/", ""),
        ("draft/", ""),
        ("data/solution/withdraw/", "data/solution/"),
    ],
)
def test_so_do_the_organizers_pages(world: World, address: str, page: str) -> None:
    console = "/organize/digits/"
    assert browser(world.organizer).get(f"{console}{address}")["Location"] == f"{console}{page}"
