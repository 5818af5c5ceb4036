"""Signing in and out."""

import json

import pytest

from holdfast import config
from holdfast.config import Settings
from tests.holdfast.conftest import URL, Run, Server, ok, problem

ME = {
    "username": "alice",
    "email": "alice@example.org",
    "token_expires_at": None,
    "token_scopes": ["read", "submit"],
    "teams": [{"competition": "digits", "name": "Alices"}],
}


def test_login_keeps_the_token_not_the_password(server: Server, run: Run) -> None:
    server.on("POST", "auth/login/", ok({"token": "new", "expiry": None, "username": "alice"}))
    ran = run("login", "--url", URL, "-u", "alice", stdin="a password\n")
    assert ran.code == 0
    assert config.load() == Settings(URL, "new", "alice")
    assert "a password" not in config.config_path().read_text()
    assert b'"password":"a password"' in server.last.content.replace(b": ", b":")


def test_login_asks_for_what_is_not_given(server: Server, run: Run) -> None:
    server.on("POST", "auth/login/", ok({"token": "new", "expiry": None, "username": "alice"}))
    ran = run("login", stdin=f"{URL}\nalice\nsecret\n")
    assert ran.code == 0
    assert "User name:" in ran.err
    assert server.last.url.host == "holdfast.example"


def test_login_with_a_token_checks_it_first(server: Server, run: Run) -> None:
    server.on("GET", "me/", ok(ME))
    ran = run("login", "--url", URL, "--token", stdin="from-the-page\n")
    assert ran.code == 0
    assert server.last.headers["authorization"] == "Token from-the-page"
    assert config.load().token == "from-the-page"


def test_login_chooses_what_the_token_may_do(server: Server, run: Run) -> None:
    server.on("POST", "auth/login/", ok({"token": "new", "expiry": None, "username": "alice"}))
    stdin = "a password\n"
    run("login", "--url", URL, "-u", "alice", "--scope", "read", "--scope", "organize", stdin=stdin)
    assert json.loads(server.last.content)["scopes"] == ["read", "organize"]


def test_a_token_has_its_scopes_already(server: Server, run: Run) -> None:
    assert run("login", "--url", URL, "--token", "--scope", "read").code == 2
    assert not server.requests


def test_a_wrong_password_is_refused_and_keeps_nothing(server: Server, run: Run) -> None:
    answer = problem(401, "wrong_credentials", "User name and password do not belong together.")
    server.on("POST", "auth/login/", answer)
    ran = run("login", "--url", URL, "-u", "alice", stdin="wrong\n")
    assert ran.code == 1
    assert "do not belong together" in ran.err
    assert not config.config_path().exists()


def test_login_requires_a_password(server: Server, run: Run) -> None:
    ran = run("login", "--url", URL, "-u", "alice")
    assert ran.code == 1
    assert "Password is required." in ran.err
    assert not server.requests


def test_login_warns_of_an_unencrypted_connection(server: Server, run: Run) -> None:
    server.on("GET", "me/", ok(ME))
    ran = run("login", "--url", "http://holdfast.example", "--token", stdin="t\n")
    assert "is not encrypted" in ran.err


def test_login_over_loopback_needs_no_warning(server: Server, run: Run) -> None:
    server.on("GET", "me/", ok(ME))
    ran = run("login", "--url", "http://127.0.0.1:8000", "--token", stdin="t\n")
    assert "not encrypted" not in ran.err


def test_logout_revokes_the_token_and_forgets_it(server: Server, run: Run) -> None:
    config.save(Settings(URL, "kept", "alice"))
    server.on("POST", "auth/logout/", ok({}, 200))
    assert run("logout").code == 0
    assert server.last.headers["authorization"] == "Token kept"
    assert config.load() == Settings()


def test_logout_with_a_dead_token_is_done(server: Server, run: Run) -> None:
    config.save(Settings(URL, "dead", "alice"))
    server.on("POST", "auth/logout/", problem(401, "not_authenticated", "No."))
    assert run("logout").code == 0


def test_logout_forgets_the_token_even_when_the_server_is_away(server: Server, run: Run) -> None:
    config.save(Settings(URL, "kept", "alice"))
    server.on("POST", "auth/logout/", problem(500, "internal_error", "It broke."))
    ran = run("logout")
    assert ran.code == 1
    assert "could not be revoked: It broke." in ran.err
    assert config.load() == Settings()


def test_logout_without_a_token_reports_it(run: Run) -> None:
    assert run("logout").out == "You were not signed in.\n"


@pytest.mark.usefixtures("signed_in")
def test_whoami_names_account_server_and_teams(server: Server, run: Run) -> None:
    server.on("GET", "me/", ok(ME))
    ran = run("whoami")
    assert ran.code == 0
    for text in ("alice", URL, "Team in digits", "Alices", "never"):
        assert text in ran.out
