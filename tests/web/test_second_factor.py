"""Second factors: setting one up, signing in by it, losing it, and being asked for one."""

import json
import re
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import call_command
from django.test import Client, override_settings

from leaderboard.models import AccountEventKind, User
from leaderboard.participate import tokens
from tests.cast import World
from tests.factors import add_app, app_code
from tests.web.pages import browser, text

FACTOR = "/account/second-factor/"


def sign_in(name: str) -> Client:
    """Give the password; the second factor is still to come."""
    client = browser()
    client.post("/account/login/", {"login": name, "password": f"{name}-password"})
    return client


def answer(client: Client, code: str) -> Any:
    return client.post(f"{FACTOR}authenticate/", {"code": code})


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def confirmed(name: str) -> Client:
    """Return a browser of somebody who has just shown the password again."""
    client = sign_in(name)
    client.post("/account/reauthenticate/", {"password": f"{name}-password"})
    return client


def test_an_app_is_set_up_with_a_code_that_it_shows(world: World) -> None:
    client = confirmed("alice")
    page = client.get(f"{FACTOR}totp/activate/")
    secret = re.search(r'id="totp-key"[^>]*value="(\w+)"', page.content.decode())
    assert secret is not None
    wrong = client.post(f"{FACTOR}totp/activate/", {"code": "000000"})
    assert "This code is not right" in text(wrong)
    codes = client.post(
        f"{FACTOR}totp/activate/", {"code": app_code(world.alice, secret[1])}, follow=True
    )
    assert len(re.findall(r"\b\d{8}\b", text(codes))) == 10
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret[1] not in kept


def test_the_password_alone_opens_nothing_where_there_is_an_app(world: World) -> None:
    add_app(world.alice)
    client = sign_in("alice")
    assert not is_in(client)
    assert answer(client, "000000").status_code == 200
    assert not is_in(client)
    answer(client, app_code(world.alice))
    assert is_in(client)


def test_a_code_of_the_app_is_taken_once(world: World) -> None:
    add_app(world.alice)
    code = app_code(world.alice)
    answer(sign_in("alice"), code)
    second = sign_in("alice")
    assert "was used already" in text(answer(second, code))
    assert not is_in(second)


def test_a_recovery_code_opens_the_account_once(world: World) -> None:
    code, other, *_ = add_app(world.alice)
    first, second = sign_in("alice"), sign_in("alice")
    answer(first, code)
    assert is_in(first)
    answer(second, code)
    assert not is_in(second)
    answer(second, other)
    assert is_in(second)


def test_after_five_wrong_codes_the_right_one_has_to_wait(world: World) -> None:
    add_app(world.alice)
    client = sign_in("alice")
    for _ in range(5):
        answer(client, "000000")
    assert "Too many" in text(answer(client, app_code(world.alice)))
    assert not is_in(client)


def test_codes_mean_nothing_under_another_secret_key(world: World) -> None:
    code, *_ = add_app(world.alice)
    client = sign_in("alice")
    with override_settings(SECRET_KEY="another-one-" * 5):
        client = sign_in("alice")
        assert answer(client, code).status_code == 200
        assert not is_in(client)


MADE_UP = dict.fromkeys(
    ("clientDataJSON", "authenticatorData", "signature", "attestationObject"), "AA"
)
MALFORMED = (
    *("[]", '"x"', '{"id": "x"}', '{"response": null}', '{"response": []}'),
    json.dumps({"id": "AA", "rawId": "AA", "response": MADE_UP | {"userHandle": "MQ"}}),
)


@pytest.mark.parametrize("page", ["login", "add"])
def test_what_no_browser_answers_for_a_passkey_is_refused(page: str, world: World) -> None:
    client = confirmed("alice") if page == "add" else browser()
    for credential in MALFORMED:
        path = f"{FACTOR}webauthn/{page}/"
        client.get(path, HTTP_ACCEPT="application/json")
        response = client.post(path, {"credential": credential}, follow=True)
        assert re.search("not accepted|not right|is required", text(response))
    assert not Authenticator.objects.exists()


def test_a_new_password_by_mail_does_not_pass_the_second_factor(
    world: World, mailoutbox: list[Any]
) -> None:
    add_app(world.alice)
    client = browser()
    client.post("/account/password/reset/", {"email": "alice@example.org"})
    link = re.search(r"http://\S+", str(mailoutbox[0].body))
    assert link is not None
    where = client.get(link[0], follow=True).redirect_chain[-1][0]
    words = "correct horse battery"
    client.post(where, {"password1": words, "password2": words})
    client.post("/account/login/", {"login": "alice", "password": words})
    assert not is_in(client)


def test_the_first_second_factor_ends_sessions_that_began_without(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, client = sign_in("alice"), confirmed("alice")
    page = client.get(f"{FACTOR}totp/activate/").content.decode()
    secret = re.search(r'id="totp-key"[^>]*value="(\w+)"', page)
    assert secret is not None
    monkeypatch.setattr("django.db.transaction.on_commit", lambda act, **kwargs: act())
    client.post(f"{FACTOR}totp/activate/", {"code": app_code(world.alice, secret[1])})
    assert is_in(client)
    assert not is_in(other)


def test_an_operator_removes_a_lost_second_factor_and_that_is_on_record(world: World) -> None:
    add_app(world.alice)
    client = sign_in("alice")
    answer(client, app_code(world.alice))
    tokens.issue(world.alice, days=1)
    words = ("--reason", "Came to the office with a passport.")
    call_command("account", "reset-second-factor", "alice", *words, stderr=StringIO())
    assert not is_in(client)
    assert not world.alice.auth_token_set.exists()  # type: ignore[attr-defined]  # of knox
    assert is_in(again := sign_in("alice"))
    assert "Came to the office" in text(again.get("/account/"))
    assert world.alice.events.filter(kind=AccountEventKind.FACTORS_RESET).exists()


@pytest.mark.parametrize("path", ["/organize/", "/c/digits/", "/account/", "/admin/"])
def test_organizers_do_nothing_without_a_second_factor_where_it_is_asked_of_them(
    path: str, world: World
) -> None:
    User.objects.filter(username="organizer").update(is_superuser=True)
    with override_settings(SECOND_FACTOR="organizers"):
        client = sign_in("organizer")
        assert client.get(path)["Location"] == FACTOR
        assert "everybody who runs competitions" in text(client.get(FACTOR))
        assert browser(world.alice).get("/account/").status_code == 200
        add_app(world.organizer)
        assert client.get(path).status_code == 200


def test_whoever_has_only_a_role_is_asked_for_a_second_factor_too(world: World) -> None:
    world.digits.roles.create(user=world.bob, role="viewer")
    with override_settings(SECOND_FACTOR="organizers"):
        assert browser(world.bob).get("/organize/")["Location"] == FACTOR
