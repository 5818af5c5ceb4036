"""Signing in by a real OpenID Connect provider, which runs in a process of its own."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client, override_settings

from leaderboard.models import User
from tests.cast import World
from tests.factors import add_app
from tests.servers.deployment import ROOT
from tests.servers.embedded import free_port
from tests.servers.identity_provider import CLIENT, READY, SECRET
from tests.web.pages import browser, text

LOGIN = "/account/oidc/sso/login/"
CALLBACK = f"http://testserver{LOGIN}callback/"


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of a provider that knows ada and alice."""
    port = free_port()
    command = [sys.executable, "-m", "tests.servers.identity_provider", str(port), CALLBACK]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == READY
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(autouse=True)
def configured(provider: str) -> Iterator[None]:
    app = {
        "provider_id": "sso",
        "name": "Example University",
        "client_id": CLIENT,
        "secret": SECRET,
        "settings": {"server_url": provider},
    }
    providers = {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
    with override_settings(SOCIALACCOUNT_PROVIDERS=providers):
        yield


def come_back(client: Client, provider: str, name: str, **query: str) -> Any:
    """Go to the provider, where somebody is signed in, and come back."""
    leaving = client.post(f"{LOGIN}?{httpx.QueryParams(query)}")
    found = re.search(r'content="0;url=([^"]+)"', leaving.content.decode())
    assert found is not None, leaving.content.decode()
    with httpx.Client(base_url=provider, timeout=30) as there:
        there.get(f"/be/{name}/")
        answer = there.get(html.unescape(found[1]))
        assert answer.headers["Location"].startswith(CALLBACK), answer.text
    return client.get(answer.headers["Location"], follow=True)


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_a_person_chooses_a_name_once_and_is_known_from_then_on(
    world: World, provider: str
) -> None:
    client = browser()
    assert "Continue with Example University" in text(client.get("/account/login/"))
    form = come_back(client, provider, "ada")
    assert "Choose a name" in text(form)
    given = {"username": "lovelace", "email": "ada@elsewhere.example"}
    client.post("/account/providers/signup/", given)
    assert EmailAddress.objects.get(user__username="lovelace").verified
    assert not User.objects.get(username="lovelace").has_usable_password()
    again = browser()
    come_back(again, provider, "ada")
    assert "lovelace" in text(again.get("/"))
    # The provider stands for the password, not for the second factor.
    add_app(User.objects.get(username="lovelace"))
    third = browser()
    assert "Second factor" in text(come_back(third, provider, "ada"))
    assert not is_in(third)


def test_an_address_at_the_provider_opens_no_account_that_is_there(
    world: World, provider: str
) -> None:
    EmailAddress.objects.create(user=world.alice, email="alice@example.org", verified=True)
    client = browser()
    come_back(client, provider, "alice")
    given = {"username": "alice2", "email": "alice@example.org"}
    refused = client.post("/account/providers/signup/", given)
    assert "An account already exists with this email address" in text(refused)
    assert not is_in(client)


def test_an_identity_belongs_to_one_account(world: World, provider: str) -> None:
    for person, said in ((world.alice, "is connected"), (world.bob, "another account")):
        client = Client()
        name = person.username
        password = {"password": f"{name}-password"}
        client.post("/account/login/", {"login": name, **password})
        client.post("/account/reauthenticate/", password)
        assert said in text(come_back(client, provider, "ada", process="connect"))
    assert SocialAccount.objects.get().user == world.alice


def test_a_provider_that_is_away_is_no_error_of_ours(world: World) -> None:
    app = {"client_id": "a", "secret": "b", "provider_id": "sso", "name": "Away"}
    app |= {"settings": {"server_url": f"http://127.0.0.1:{free_port()}"}}  # type: ignore[dict-item]
    with override_settings(SOCIALACCOUNT_PROVIDERS={"openid_connect": {"APPS": [app]}}):
        response = browser().post(LOGIN)
    assert response.status_code == 502
    assert "did not answer as expected" in text(response)
