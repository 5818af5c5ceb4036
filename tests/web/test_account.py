"""Signing up, signing in, passwords and API tokens."""

import re

import pytest
from allauth.account.adapter import get_adapter
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.db import connection
from django.test import RequestFactory, override_settings
from knox.models import AuthToken

from leaderboard.models import User
from tests.cast import World, make_user
from tests.web.pages import browser, text

PASSWORD = "a-long-enough-one-9"
SIGN_UP = {
    "username": "carol",
    "email": "carol@example.org",
    "password1": PASSWORD,
    "password2": PASSWORD,
}


def test_signing_up_leads_back_to_where_one_came_from(world: World) -> None:
    client = browser()
    form = client.get("/account/signup/?next=/c/digits/rules/").content.decode()
    assert 'value="/c/digits/rules/"' in form
    response = client.post("/account/signup/", SIGN_UP | {"next": "/c/digits/rules/"})
    assert response["Location"] == "/c/digits/rules/"
    assert "carol" in text(client.get("/"))


@pytest.mark.parametrize("link", ["login", "signup"])
def test_the_head_of_a_page_leads_back_to_it(world: World, link: str) -> None:
    page = browser().get("/c/digits/leaderboard/?team=a").content.decode()
    assert f'"/account/{link}/?next=/c/digits/leaderboard/%3Fteam%3Da"' in page


def test_the_head_of_the_sign_in_page_does_not_lead_back_to_it(world: World) -> None:
    assert '"/account/signup/"' in browser().get("/account/login/").content.decode()


def test_with_a_new_password_one_goes_on_at_the_account(world: World) -> None:
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    form = {"oldpassword": "alice-password"} | passwords
    response = browser(world.alice).post("/account/password/change/", form)
    assert response["Location"] == "/account/"


def test_what_a_new_password_revokes_is_said_where_one_changes_only(world: World) -> None:
    assert "revokes" not in text(browser().get("/account/signup/"))
    assert "revoked" in text(browser(world.alice).get("/account/password/change/"))


def test_a_wrong_sign_up_says_what_is_wrong_beside_the_field(world: World) -> None:
    response = browser().post("/account/signup/", SIGN_UP | {"username": "alice"})
    assert "A user with that username already exists." in text(response)
    assert 'aria-invalid="true"' in response.content.decode()


def test_a_class_behind_one_address_can_sign_up_until_the_limit(world: World) -> None:
    cache.clear()
    client = browser()
    answers = [client.post("/account/signup/", {}) for _ in range(101)]
    cache.clear()
    assert [answer.status_code for answer in answers] == [200] * 100 + [429]
    assert answers[-1]["Retry-After"] == "60"
    assert "others share it" in text(answers[-1])


@pytest.mark.parametrize("login", ["alice", "alice@example.org"])
def test_signing_in_by_name_or_address(world: World, login: str) -> None:
    client = browser()
    fields = {"login": login, "password": "alice-password"}
    assert client.post("/account/login/", fields)["Location"] == "/"


def test_a_wrong_password_is_said_above_the_form(world: World) -> None:
    response = browser().post("/account/login/", {"login": "alice", "password": "no"})
    assert 'class="notice state-error' in response.content.decode()


def test_signing_out_needs_a_post(world: World) -> None:
    client = browser(world.alice)
    client.get("/account/logout/")
    assert "alice" in text(client.get("/"))
    client.post("/account/logout/")
    assert "alice" not in text(client.get("/"))


def test_a_forgotten_password_is_reset_by_mail(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    client = browser()
    sent = client.post("/account/password/reset/", {"email": "alice@example.org"}, follow=True)
    assert "Look at your mail" in text(sent)
    link = re.search(r"http://\S+", str(mailoutbox[0].body))
    assert link is not None
    form = client.get(link[0], follow=True)
    assert "Choose a new password" in text(form)
    where = form.redirect_chain[-1][0]
    done = client.post(where, {"password1": PASSWORD, "password2": PASSWORD}, follow=True)
    assert "The password is changed" in text(done)
    assert User.objects.get(username="alice").check_password(PASSWORD)


def test_a_used_reset_link_says_so(world: World) -> None:
    response = browser().get("/account/password/reset/key/1-set-password/", follow=True)
    assert "The link does not work any more" in text(response)


@pytest.mark.parametrize("path", ["password/change/", "email/", ""])
def test_account_pages_are_for_the_signed_in(world: World, path: str) -> None:
    assert browser().get(f"/account/{path}").status_code == 302
    assert browser(world.alice).get(f"/account/{path}").status_code == 200


def test_a_token_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    client = browser(world.alice)
    response = client.post("/account/tokens/", {"lifetime": "90", "scopes": ["read"]})
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    shown = re.search(r'id="new-token"[^>]*value="([^"]+)"', response.content.decode())
    assert shown is not None
    assert shown[1] not in client.get("/account/").content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT digest FROM knox_authtoken")
        assert shown[1] not in cursor.fetchone()[0]


@pytest.mark.parametrize(("lifetime", "endless"), [("30", False), ("never", True)])
def test_a_token_lives_as_long_as_was_chosen(world: World, lifetime: str, endless: bool) -> None:
    browser(world.alice).post("/account/tokens/", {"lifetime": lifetime, "scopes": ["read"]})
    assert (AuthToken.objects.get().expiry is None) is endless


def test_an_unknown_lifetime_makes_no_token(world: World) -> None:
    assert (
        browser(world.alice)
        .post("/account/tokens/", {"lifetime": "9", "scopes": ["read"]})
        .status_code
        == 422
    )
    assert not AuthToken.objects.exists()


def test_a_token_is_revoked_by_its_owner_only(world: World) -> None:
    browser(world.alice).post("/account/tokens/", {"lifetime": "30", "scopes": ["read"]})
    url = f"/account/tokens/{AuthToken.objects.get().token_key}/revoke/"
    browser(world.bob).post(url)
    assert AuthToken.objects.count() == 1
    assert "revoked" in text(browser(world.alice).post(url, follow=True))
    assert not AuthToken.objects.exists()


def test_opening_an_address_neither_makes_nor_revokes_a_token(world: World) -> None:
    alice = browser(world.alice)
    alice.get("/account/tokens/")
    alice.post("/account/tokens/", {"lifetime": "30", "scopes": ["read"]})
    key = AuthToken.objects.get().token_key
    assert alice.get(f"/account/tokens/{key}/revoke/")["Location"] == "/account/"
    assert AuthToken.objects.count() == 1


def test_another_accounts_address_can_not_be_added(world: World) -> None:
    client = browser(world.bob)
    address = {"email": "Alice@example.org"}
    response = client.post("/account/email/", address | {"action_add": ""})
    assert "Another account has this address." in text(response)
    assert client.post("/account/email/", address | {"action_primary": ""}).status_code == 302
    assert User.objects.get(username="bob").email == "bob@example.org"


def test_limits_count_the_address_that_the_proxy_saw(rf: RequestFactory) -> None:
    request = rf.get("/", HTTP_X_FORWARDED_FOR="6.6.6.6, 192.0.2.7")
    assert get_adapter().get_client_ip(request) == "127.0.0.1"
    with override_settings(ALLAUTH_TRUSTED_PROXY_COUNT=1):
        assert get_adapter().get_client_ip(request) == "192.0.2.7"


@pytest.mark.parametrize("by", ["the person", "an operator", "a console"])
def test_a_new_password_revokes_the_tokens_that_were_made_with_the_old_one(
    by: str, world: World
) -> None:
    AuthToken.objects.create(world.alice)
    AuthToken.objects.create(world.bob)
    chosen = {"password1": PASSWORD, "password2": PASSWORD}
    if by == "the person":
        form = chosen | {"oldpassword": "alice-password"}
        browser(world.alice).post("/account/password/change/", form)
    elif by == "an operator":
        operator = make_user("root", is_superuser=True)
        address = f"/admin/leaderboard/user/{world.alice.pk}/password/"
        browser(operator).post(address, chosen | {"usable_password": "true"})
    else:
        world.alice.set_password(PASSWORD)
        world.alice.save()
    world.alice.refresh_from_db()
    assert world.alice.check_password(PASSWORD)
    assert list(AuthToken.objects.values_list("user__username", flat=True)) == ["bob"]


def test_signing_in_keeps_the_tokens(world: World) -> None:
    AuthToken.objects.create(world.alice)
    browser().post("/account/login/", {"login": "alice", "password": "alice-password"})
    assert AuthToken.objects.filter(user=world.alice).exists()


def test_looking_at_the_addresses_notes_none(world: World) -> None:
    client = browser(world.alice)
    assert "alice@example.org not verified" in text(client.get("/account/email/"))
    assert not world.alice.emailaddress_set.exists()  # type: ignore[attr-defined]  # of allauth
    client.post("/account/email/", {"action_send": "", "email": "alice@example.org"})
    assert world.alice.emailaddress_set.exists()  # type: ignore[attr-defined]  # of allauth


def mailed(mailoutbox: list[EmailMessage], url: str, **form: str) -> EmailMessage:
    browser().post(url, form)
    (message,) = mailoutbox
    return message


def test_a_mail_says_what_to_do_and_that_nothing_may_be_done(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    message = mailed(mailoutbox, "/account/password/reset/", email="alice@example.org")
    assert message.subject == "[Holdfast] Set a new password"
    assert "/account/password/reset/key/" in message.body
    assert "do nothing: your password stays as it is" in message.body


def test_an_address_without_an_account_gets_the_way_to_one(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    message = mailed(mailoutbox, "/account/password/reset/", email="o'hara&co@example.org")
    assert message.subject == "[Holdfast] No account has this address"
    assert "o'hara&co@example.org" in message.body
    assert "/account/signup/" in message.body


def test_a_new_account_is_asked_to_confirm_its_address(
    db: None, mailoutbox: list[EmailMessage]
) -> None:
    message = mailed(
        mailoutbox, "/account/signup/", username="erin", email="erin@example.org",
        password1="correct horse battery", password2="correct horse battery",
    )  # fmt: skip
    assert message.subject == "[Holdfast] Confirm your address"
    assert "The account erin was given this address." in message.body
    assert "/account/confirm-email/" in message.body
