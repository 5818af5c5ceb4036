"""Signing in by password, tokens, and signing out."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from knox.models import AuthToken
from knox.settings import CONSTANTS
from rest_framework.test import APIClient

from leaderboard.api.throttles import LoginAddressThrottle, LoginThrottle
from leaderboard.models import User
from leaderboard.participate import tokens
from tests.api.conftest import API, As
from tests.cast import World, make_user

LOGIN = f"{API}auth/login/"


def _login(client: APIClient, username: str = "alice", password: str = "") -> Any:
    password = password or "alice-password"
    return client.post(LOGIN, {"username": username, "password": password}, format="json")


def _me(client: APIClient, token: str) -> Any:
    return client.get(f"{API}me/", HTTP_AUTHORIZATION=f"Token {token}")


@pytest.fixture
def alice(db: None) -> User:
    return make_user("alice")


def test_login_gives_a_token_that_works(alice: User, anonymous: APIClient) -> None:
    answer = _login(anonymous).json()
    assert answer["username"] == "alice"
    assert answer["token"].startswith("holdfast_")
    assert _me(anonymous, answer["token"]).json()["username"] == "alice"


def test_a_token_expires(alice: User, anonymous: APIClient) -> None:
    answer = _login(anonymous).json()
    assert _me(anonymous, answer["token"]).json()["token_expires_at"] == answer["expiry"]
    AuthToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert _me(anonymous, answer["token"]).status_code == 401


def test_expired_tokens_are_forgotten_when_one_of_them_or_another_is_used(
    alice: User, anonymous: APIClient
) -> None:
    old, new = (_login(anonymous).json()["token"] for _ in range(2))
    past = timezone.now() - timedelta(seconds=1)
    AuthToken.objects.filter(token_key=old[: CONSTANTS.TOKEN_KEY_LENGTH]).update(expiry=past)
    assert _me(anonymous, new).status_code == 200
    assert AuthToken.objects.count() == 1
    AuthToken.objects.update(expiry=past)
    assert _me(anonymous, new).status_code == 401
    assert not AuthToken.objects.exists()


def test_a_token_is_looked_up_once(alice: User, anonymous: APIClient) -> None:
    token = _login(anonymous).json()["token"]
    _me(anonymous, token)
    with CaptureQueriesContext(connection) as made:
        assert _me(anonymous, token).status_code == 200
    of_tokens = [each["sql"] for each in made if "token" in each["sql"]]
    assert len(of_tokens) == 1


def test_login_takes_the_email_address_too(alice: User, anonymous: APIClient) -> None:
    assert _login(anonymous, "alice@example.org").status_code == 200


def test_only_the_hash_of_a_token_is_kept(alice: User, anonymous: APIClient) -> None:
    token = _login(anonymous).json()["token"]
    assert token not in str(AuthToken.objects.values_list())


@pytest.mark.parametrize(
    ("username", "password"),
    [("alice", "wrong"), ("nobody", "alice-password"), ("alice", "alice-password ")],
)
def test_wrong_credentials_have_one_answer(
    username: str, password: str, alice: User, anonymous: APIClient
) -> None:
    response = _login(anonymous, username, password)
    assert response.status_code == 401
    assert response.json()["detail"] == "The user name and the password do not match."
    assert not AuthToken.objects.exists()


def test_a_user_name_that_is_no_text_is_refused(anonymous: APIClient) -> None:
    body = '{"username": "\\ud800", "password": "x"}'
    response = anonymous.post(LOGIN, body, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (422, "invalid")


def test_a_disabled_account_gets_no_token(alice: User, anonymous: APIClient) -> None:
    User.objects.update(is_active=False)
    assert _login(anonymous).status_code == 401


def test_a_confirmed_address_is_enough_where_one_is_needed(
    alice: User, anonymous: APIClient
) -> None:
    EmailAddress.objects.create(user=alice, email=alice.email, verified=True, primary=True)
    with override_settings(ACCOUNT_EMAIL_VERIFICATION="mandatory"):
        assert _login(anonymous).status_code == 200


def test_guesses_at_one_account_are_limited_and_keep_nobody_elsewhere_from_it(
    alice: User, anonymous: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoginThrottle, "THROTTLE_RATES", {"login": "2/min"})
    body = {"username": " ALICE ", "password": "guess"}
    for status in (401, 401, 429):
        response = anonymous.post(LOGIN, body, format="json", REMOTE_ADDR="192.0.2.1")
        assert response.status_code == status
    right = {"username": "alice", "password": "alice-password"}
    response = anonymous.post(LOGIN, right, format="json", REMOTE_ADDR="192.0.2.2")
    assert response.status_code == 200


def test_guesses_from_one_address_are_limited_whoever_they_name(
    alice: User, anonymous: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoginAddressThrottle, "THROTTLE_RATES", {"login_address": "2/min"})
    for name, status in (("a", 401), ("b", 401), ("c", 429)):
        assert _login(anonymous, name).status_code == status


def test_a_made_up_forwarding_header_is_no_other_address(
    alice: User, anonymous: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoginAddressThrottle, "THROTTLE_RATES", {"login_address": "1/min"})
    body = {"username": "alice", "password": "guess"}
    for forwarded, status in (("192.0.2.1", 401), ("192.0.2.2", 429)):
        response = anonymous.post(LOGIN, body, format="json", HTTP_X_FORWARDED_FOR=forwarded)
        assert response.status_code == status


@pytest.mark.parametrize("scheme", ["Token", "token", "Bearer", "bearer"])
def test_a_token_may_be_called_a_bearer_s(scheme: str, alice: User, anonymous: APIClient) -> None:
    token = tokens.issue(alice, days=1).text
    response = anonymous.get(f"{API}me/", HTTP_AUTHORIZATION=f"{scheme} {token}")
    assert response.json()["username"] == "alice"


def test_a_bearer_s_token_that_is_not_valid_says_so(alice: User, anonymous: APIClient) -> None:
    response = anonymous.get(f"{API}me/", HTTP_AUTHORIZATION="Bearer holdfast_0123456789")
    assert response.status_code == 401
    assert "expired, was revoked, or is misspelt" in response.json()["detail"]


@pytest.mark.parametrize("header", ["Basic YWxpY2U6eA==", "Bearer eyJhbGciOi", "holdfast_01234567"])
def test_a_header_of_another_form_is_told_what_it_should_be(
    header: str, alice: User, anonymous: APIClient
) -> None:
    response = anonymous.get(f"{API}me/", HTTP_AUTHORIZATION=header)
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Token")
    assert "should be the word Token, a space" in response.json()["detail"]


def test_a_header_for_a_proxy_leaves_the_session_alone(alice: User, anonymous: APIClient) -> None:
    anonymous.force_login(alice)
    response = anonymous.get(f"{API}me/", HTTP_AUTHORIZATION="Bearer eyJhbGciOi")
    assert response.json()["username"] == "alice"


def test_logout_ends_this_token_and_no_other(alice: User, anonymous: APIClient) -> None:
    first, second = (tokens.issue(alice, days=1).text for _ in range(2))
    response = anonymous.post(f"{API}auth/logout/", HTTP_AUTHORIZATION=f"Token {first}")
    assert (response.status_code, response.content) == (204, b"")
    assert _me(anonymous, first).status_code == 401
    assert _me(anonymous, second).status_code == 200


def test_me_lists_my_teams(world: World, as_: As) -> None:
    world.join(world.alice, "Alices")
    me = as_(world.alice).get(f"{API}me/").json()
    assert me["teams"] == [{"competition": "digits", "name": "Alices"}]
    names = ("expires_at", "name", "scopes", "competition", "campaign", "quota", "quota_left")
    of_token = {f"token_{name}" for name in names}
    assert set(me) == {"username", "email", "is_organizer", "teams"} | of_token


def _create_token(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_create_token_prints_the_token_alone(alice: User, anonymous: APIClient) -> None:
    printed = _create_token("alice")
    assert len(printed.splitlines()) == 1
    assert _me(anonymous, printed.strip()).status_code == 200


def test_create_token_takes_days(alice: User) -> None:
    _create_token("alice", "--days", "3")
    expiry = AuthToken.objects.get().expiry
    assert timedelta(days=2) < expiry - timezone.now() <= timedelta(days=3)


@pytest.mark.parametrize("arguments", [["nobody"], ["alice", "--days", "0"]])
def test_create_token_refuses_with_a_reason(arguments: list[str], alice: User) -> None:
    with pytest.raises(CommandError):
        _create_token(*arguments)
    assert not AuthToken.objects.exists()


def test_create_token_gives_none_to_a_disabled_account(alice: User) -> None:
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="no active account"):
        _create_token("alice")
