"""What strangers learn and reach: mails, who is registered, guesses, and who may join."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth import hashers
from django.core.cache import cache
from django.core.mail import EmailMessage
from pytest_django import Settings
from rest_framework.test import APIClient

from leaderboard.models import Delivery, Membership, User
from leaderboard.notify import mails
from leaderboard.participate import accounts, tokens
from leaderboard.platform.throttles import TokenThrottle, UploadAddressThrottle
from tests.api.conftest import API, send
from tests.cast import World
from tests.web.pages import browser, text

PASSWORD = "a-long-enough-one-9"
RESET = "/account/password/reset/"
JOIN = "/c/digits/join/"


@pytest.fixture(autouse=True)
def fresh_throttles() -> None:
    cache.clear()


def confirm(user: User) -> None:
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)


def sign_up(name: str, email: str) -> Any:
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    form = {"username": name, "email": email} | passwords
    return browser().post("/account/signup/", form, follow=True)


def test_mails_lead_to_the_site_whatever_host_the_request_named(
    world: World, settings: Settings, mailoutbox: list[EmailMessage]
) -> None:
    settings.SITE_URL = "https://holdfast.example"
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    browser().post(RESET, {"email": world.alice.email}, headers={"Host": "localhost:4444"})
    browser().post(RESET, {"email": "nobody@example.org"}, headers={"Host": "127.0.0.1:1"})
    sign_up("carol", "carol@example.org")
    sign_up("dave", world.alice.email)
    assert len(mailoutbox) == 4
    for message in mailoutbox:
        assert "https://holdfast.example/account/" in message.body
        assert "Holdfast, holdfast.example" in message.body
        assert not any(host in message.body for host in ("localhost", "127.0.0.1", "testserver"))


def test_who_is_registered_is_not_told_by_signing_up_where_addresses_are_confirmed(
    world: World,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    mailoutbox: list[EmailMessage],
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    hasher, hashed = type(hashers.get_hasher()), list[int]()
    encode = hasher.encode

    def counted(*args: Any, **fields: Any) -> str:
        hashed.append(1)
        return encode(*args, **fields)

    monkeypatch.setattr(hasher, "encode", counted)
    pages, work = [], []
    for name, email in (("carol", "carol@example.org"), ("dave", world.alice.email)):
        page = sign_up(name, email)
        pages.append((page.status_code, page.redirect_chain, text(page).replace(email, "")))
        work.append((len(hashed), len(mailoutbox)))
        hashed.clear()
        mailoutbox.clear()
    assert pages[0] == pages[1]
    assert work == [(1, 1), (1, 1)]  # what takes time
    assert not User.objects.filter(username="dave").exists()


def test_nor_by_asking_for_a_new_password(world: World, mailoutbox: list[EmailMessage]) -> None:
    known, unknown = (
        browser().post(RESET, {"email": email}, follow=True)
        for email in (world.alice.email, "nobody@example.org")
    )
    assert (text(known), known.redirect_chain) == (text(unknown), unknown.redirect_chain)
    assert len(mailoutbox) == 2


def test_nor_by_adding_an_address_to_an_account(
    world: World, settings: Settings, mailoutbox: list[EmailMessage]
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    pages = []
    for user, email in ((world.bob, "new@example.org"), (world.organizer, world.alice.email)):
        confirm(user)
        added = browser(user).post("/account/email/", {"email": email, "action_add": ""})
        pages.append((added.status_code, added.headers.get("Location")))
    assert pages[0] == pages[1]
    assert len(mailoutbox) == 2


def test_nobody_s_wrong_guesses_keep_another_from_signing_in(world: World) -> None:
    guess, right = ({"login": "alice", "password": each} for each in ("no", "alice-password"))
    for _ in range(7):
        browser().post("/account/login/", guess, REMOTE_ADDR="192.0.2.1")
    refused = browser().post("/account/login/", right, REMOTE_ADDR="192.0.2.1")
    assert "Too many failed login attempts" in text(refused)
    assert browser().post("/account/login/", right, REMOTE_ADDR="192.0.2.2").status_code == 302


def test_uploads_are_counted_by_their_address_as_well(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UploadAddressThrottle, "THROTTLE_RATES", {"upload_address": "1/min"})
    answers = []
    for user in (world.alice, world.bob):
        world.join(user)
        client = APIClient()
        client.force_authenticate(user)
        answers.append(send(client).status_code)
    assert answers == [201, 429]


def test_tokens_made_on_the_page_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenThrottle, "THROTTLE_RATES", {"token": "1/min"})
    client, form = browser(world.alice), {"lifetime": "90", "scopes": ["read"]}
    assert [client.post("/account/tokens/", form).status_code for _ in range(2)] == [201, 429]


def test_who_joins_has_confirmed_an_address_where_that_is_asked_for(
    world: World, settings: Settings
) -> None:
    settings.CONFIRM_TO_JOIN = True
    world.digits.invited.add(world.alice)  # by the name of an account, which shows no address
    page = browser(world.alice).get("/c/digits/rules/")
    assert "needs a confirmed email address" in text(page)
    assert 'href="/account/email/"' in page.content.decode()
    form = {"accept_rules": "on", "team_name": "Alices"}
    assert browser(world.alice).post(JOIN, form).status_code == 403
    client = APIClient()
    client.force_authenticate(world.alice)
    body = {"accept_rules": True, "team_name": "Alices"}
    refused = client.post(f"{API}competitions/digits/join/", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "email_not_verified")
    assert not Membership.objects.exists()
    world.join(User.objects.create_user("baseline-1"), "Nobody signs in as this")
    confirm(world.alice)
    assert client.post(f"{API}competitions/digits/join/", body, format="json").status_code == 201


def test_changes_of_an_account_s_security_are_mailed_to_its_confirmed_address(
    world: World,
) -> None:
    tokens.issue(world.bob, days=1)  # who has none
    confirm(world.alice)
    tokens.issue(world.alice, days=1, name="laptop")
    form = {"oldpassword": "alice-password", "password1": PASSWORD, "password2": PASSWORD}
    browser(world.alice).post("/account/password/change/", form)
    accounts.reset_second_factors(world.alice, reason="Lost the phone.")
    written = [mails.write(each) for each in Delivery.objects.order_by("pk")]
    told = [(each.subject, each.to) for each in written if each]
    assert told == [
        ("[Holdfast] An API token was made for your account", [world.alice.email]),
        ("[Holdfast] Your password was changed", [world.alice.email]),
        ("[Holdfast] An operator removed all second factors of your account", [world.alice.email]),
    ]
    assert all("List-Unsubscribe" not in each.extra_headers for each in written if each)
    bodies = [str(each.body) for each in written if each]
    assert "laptop, for read, submit" in bodies[0]
    assert all("If it was not you" in body and "can't be ended" in body for body in bodies)


@pytest.mark.parametrize(
    "path", ["leaderboard/?format=csv", "final/?format=csv", "ledger/?format=jsonl"]
)
def test_an_operation_is_described_whatever_format_is_asked_for(world: World, path: str) -> None:
    answer = APIClient().options(f"{API}competitions/digits/{path}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
