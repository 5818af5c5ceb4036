"""Second factors and the API: tokens by code, and what is refused without."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from rest_framework.test import APIClient

from leaderboard.models import Scope
from leaderboard.participate import tokens
from tests.api.conftest import API
from tests.cast import World
from tests.factors import add_app, app_code


def login(client: APIClient, **more: str) -> Any:
    body = {"username": "alice", "password": "alice-password", **more}
    return client.post(f"{API}auth/login/", body, format="json")


def test_a_token_needs_the_second_factor_too(world: World, anonymous: APIClient) -> None:
    add_app(world.alice)
    assert login(anonymous).json()["code"] == "second_factor_required"
    assert login(anonymous, code="000000").json()["code"] == "wrong_code"
    code = app_code(world.alice)
    assert "token" in login(anonymous, code=code).json()
    assert login(anonymous, code=code).json()["code"] == "wrong_code"


def test_a_wrong_password_is_not_told_of_a_second_factor(
    world: World, anonymous: APIClient
) -> None:
    add_app(world.alice)
    answer = login(anonymous, password="wrong", code=app_code(world.alice))
    assert answer.json()["code"] == "wrong_credentials"


def test_codes_are_guessed_five_times_by_pages_and_api_together(
    world: World, anonymous: APIClient
) -> None:
    add_app(world.alice)
    for _ in range(5):
        login(anonymous, code="000000")
    answer = login(anonymous, code=app_code(world.alice))
    assert "Wait five minutes" in answer.json()["detail"]


def test_an_account_with_passkeys_alone_is_sent_to_a_browser(
    world: World, anonymous: APIClient
) -> None:
    world.alice.authenticator_set.create(type="webauthn", data={})  # type: ignore[attr-defined]  # of allauth
    assert "needs a browser" in login(anonymous).json()["detail"]


@override_settings(SECOND_FACTOR="organizers")
@pytest.mark.parametrize("scope", [Scope.READ, Scope.ORGANIZE])
def test_a_token_of_an_organizer_waits_for_the_second_factor(
    scope: Scope, world: World, anonymous: APIClient
) -> None:
    with override_settings(SECOND_FACTOR="optional"):
        token = tokens.issue(world.organizer, days=1, scopes=[scope]).text
    path = "organize/competitions/" if scope is Scope.ORGANIZE else "competitions/"
    anonymous.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    refused = anonymous.get(f"{API}{path}")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_missing")
    add_app(world.organizer)
    assert anonymous.get(f"{API}{path}").status_code == 200


@override_settings(SECOND_FACTOR="organizers")
def test_an_organizer_gets_no_token_before_the_second_factor(world: World) -> None:
    with pytest.raises(CommandError, match="second factor"):
        call_command("create_token", "organizer")
