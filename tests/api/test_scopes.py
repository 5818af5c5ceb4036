"""What a token may do: each route of the API by each scope, and how a token gets its scopes."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import URLPattern, URLResolver
from knox.models import AuthToken
from rest_framework.test import APIClient

from leaderboard.api.authentication import ScopeGranted
from leaderboard.api.urls import urlpatterns
from leaderboard.errors import PROBLEM_TYPE
from leaderboard.models import Scope, TokenGrant, User
from leaderboard.participate import tokens
from tests.api.conftest import API, DIGITS
from tests.cast import World
from tests.web.pages import browser

ANY = {None, *Scope}
# Where the address alone doesn't say it: what is about the token itself, or made by a password.
OWN = {"auth/login/": ANY, "auth/logout/": ANY, "me/": ANY}
METHODS = ("get", "post", "put", "patch", "delete")


def _views(entries: list[Any], before: str = "") -> list[tuple[str, Any]]:
    found = []
    for entry in entries:
        here = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found += _views(entry.url_patterns, here)
        elif isinstance(entry, URLPattern) and hasattr(entry.callback, "view_class"):
            found.append((here, entry.callback.view_class))
    return found


VIEWS = _views(urlpatterns)


def _needed(path: str, method: str) -> set[Scope | None]:
    if path in OWN:
        return OWN[path]
    if path.startswith("organize/"):
        return {Scope.ORGANIZE}
    if method == "get":
        return {Scope.READ}
    return {Scope.CAMPAIGNS if "/campaigns/" in path else Scope.SUBMIT}


@pytest.mark.parametrize("path", [path for path, _ in VIEWS])
def test_each_method_of_each_route_asks_for_one_scope(path: str, world: World) -> None:
    """A token with that scope alone gets further, be it to another refusal; others don't."""
    view = dict(VIEWS)[path]
    for method in METHODS:
        if not hasattr(view, method):
            continue
        let_in = {scope for scope in ANY if _gets_in(world.alice, scope, method, _address(path))}
        assert let_in == _needed(path, method), f"{method} {path}"


def _address(path: str) -> str:
    values = {"slug": "digits", "name": "train.csv"}

    def value(found: re.Match[str]) -> str:
        return values.get(found[2], "1" if found[1] == "int" else "x")

    return API + re.sub(r"<(\w+):(\w+)>", value, path)


def _gets_in(user: User, scope: Scope | None, method: str, address: str) -> bool:
    client = token_client(user, *([scope] if scope else []))
    response = getattr(client, method)(address, {}, format="json")
    is_problem = response.headers.get("Content-Type") == PROBLEM_TYPE
    return not is_problem or response.json()["code"] != "scope_missing"


def token_client(user: User, *scopes: Scope) -> APIClient:
    """Return a client with a token of these scopes."""
    token = tokens.issue(user, days=1, scopes=scopes).text
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client


def test_no_view_leaves_the_check_out() -> None:
    public = {path for path, view in VIEWS if ScopeGranted not in view.permission_classes}
    assert not public


def test_the_refusal_names_the_scope_that_lacks(world: World) -> None:
    document = token_client(world.alice, Scope.SUBMIT).get(f"{API}competitions/").json()
    assert (document["code"], document["status"]) == ("scope_missing", 403)
    assert "the scope read" in document["detail"]


def test_a_token_from_before_there_were_scopes_reads_and_submits(world: World) -> None:
    client = token_client(world.alice)
    TokenGrant.objects.all().delete()
    assert client.get(f"{DIGITS}leaderboard/").status_code == 200
    assert client.post(f"{DIGITS}join/", {"accept_rules": True}, "json").status_code == 201
    assert client.get(f"{API}me/").json()["token_scopes"] == ["read", "submit"]


def test_a_session_does_all_that_its_person_may(world: World) -> None:
    client = APIClient()
    client.force_login(world.alice)
    assert client.get(f"{API}competitions/").status_code == 200
    assert client.get(f"{API}me/").json()["token_scopes"] is None


def test_signing_in_by_the_api_chooses_scopes_and_a_name(world: World) -> None:
    body = {"username": "alice", "password": "alice-password"}
    chosen = {"scopes": ["organize", "read"], "name": "deploy"}
    made = APIClient().post(f"{API}auth/login/", body | chosen, format="json").json()
    assert made["scopes"] == ["read", "organize"]
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {made['token']}")
    me = client.get(f"{API}me/").json()
    assert (me["token_name"], me["token_scopes"]) == ("deploy", ["read", "organize"])


def test_signing_in_without_choosing_reads_and_submits(world: World) -> None:
    body = {"username": "alice", "password": "alice-password"}
    made = APIClient().post(f"{API}auth/login/", body, format="json").json()
    assert made["scopes"] == ["read", "submit"]


@pytest.mark.parametrize("scopes", [[], ["admin"], "read"])
def test_odd_scopes_make_no_token(scopes: Any, world: World) -> None:
    body = {"username": "alice", "password": "alice-password", "scopes": scopes}
    response = APIClient().post(f"{API}auth/login/", body, format="json")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "scopes"
    assert not AuthToken.objects.exists()


def test_the_account_page_makes_a_token_with_name_and_scopes(world: World) -> None:
    client = browser(world.organizer)
    form = {"lifetime": "30", "scopes": ["organize"], "name": "CI of digits"}
    assert client.post("/account/tokens/", form).status_code == 201
    grant = TokenGrant.objects.get()
    assert (grant.name, grant.scopes) == ("CI of digits", ["organize"])
    assert "CI of digits" in client.get("/account/").content.decode()


def test_only_who_runs_competitions_is_offered_to_organize(world: World) -> None:
    form = {"lifetime": "30", "scopes": ["organize"]}
    assert browser(world.alice).post("/account/tokens/", form).status_code == 422
    assert not AuthToken.objects.exists()


def test_a_revoked_token_takes_its_scopes_along(world: World) -> None:
    token_client(world.alice, Scope.READ).post(f"{API}auth/logout/")
    assert not TokenGrant.objects.exists()


def test_operators_choose_scopes_on_the_command_line(world: World) -> None:
    call_command("create_token", "alice", "--scope", "organize", "--name", "CI", stdout=StringIO())
    grant = TokenGrant.objects.get()
    assert (grant.name, grant.scopes) == ("CI", ["organize"])
