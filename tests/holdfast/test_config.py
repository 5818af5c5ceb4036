"""Where address and token are kept, and which are used."""

import json
import stat
from pathlib import Path

import pytest

from holdfast import config
from holdfast.config import Settings
from holdfast.errors import Failure
from tests.holdfast.conftest import URL, Run, Server, ok


def _saved() -> Path:
    return config.save(Settings(URL, "kept-token", "alice"))


def test_the_file_is_readable_by_its_owner_only() -> None:
    path = _saved()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_saving_again_closes_a_file_that_was_open_to_others() -> None:
    path = _saved()
    path.chmod(0o644)
    _saved()
    assert not config.readable_by_others(path)


def test_what_is_saved_is_loaded() -> None:
    _saved()
    assert config.load() == Settings(URL, "kept-token", "alice")


def test_the_file_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOLDFAST_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.config_path() == tmp_path / "holdfast" / "config.json"


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _saved()
    monkeypatch.setenv("HOLDFAST_TOKEN", "other-token")
    assert config.current().token == "other-token"


def test_a_kept_token_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    _saved()
    monkeypatch.setenv("HOLDFAST_URL", "https://elsewhere.example")
    assert config.current() == Settings("https://elsewhere.example")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("holdfast.example", "https://holdfast.example"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("localhost.example", "https://localhost.example"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("https://holdfast.example/api/v1/", "https://holdfast.example"),
        ("https://example.org/boards", "https://example.org/boards"),
    ],
)
def test_an_address_is_kept_in_one_form(typed: str, kept: str) -> None:
    assert config.clean_url(typed) == kept


@pytest.mark.parametrize(
    "typed", ["ftp://a.example", "https://", "https://a:b@c.example", "a b", "http://"]
)
def test_what_is_no_web_address_is_refused(typed: str) -> None:
    with pytest.raises(Failure, match="is not a server's address"):
        config.clean_url(typed)


@pytest.mark.parametrize("content", ["{", "\xff"])
def test_a_broken_file_is_a_reason_not_a_traceback(content: str, run: Run) -> None:
    path = config.config_path()
    path.parent.mkdir()
    path.write_bytes(content.encode("latin-1"))
    ran = run("whoami")
    assert ran.code == 1
    assert f"{path} cannot be read" in ran.err


def test_without_a_server_a_command_explains_what_to_do(run: Run) -> None:
    ran = run("competitions", "list")
    assert ran.code == 1
    assert "No server is set." in ran.err
    assert "holdfast login" in ran.err


def test_a_file_that_others_can_read_is_warned_of(server: Server, run: Run) -> None:
    _saved().chmod(0o644)
    server.on("GET", "me/", ok({"username": "alice", "teams": []}))
    ran = run("whoami")
    assert ran.code == 0
    assert "others can read it" in ran.err


def test_the_file_holds_nothing_but_what_is_named() -> None:
    assert set(json.loads(_saved().read_text())) == {"url", "token", "username", "competition"}


def test_a_default_competition_is_meant_where_none_is_named(
    server: Server, run: Run, signed_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("config", "set", "-n", "competition", "-v", "digits").code == 0
    server.on("GET", "competitions/digits/finals/", ok({"limit": 2, "numbers": [], "summary": "-"}))
    ran = run("finals")
    assert (ran.code, ran.err) == (0, "Using competition: digits\n")
    server.on("PUT", "competitions/digits/finals/", ok({"numbers": [3, 5], "summary": "-"}))
    assert run("finals", "3", "5").code == 0
    assert json.loads(server.last.content) == {"numbers": [3, 5]}
    monkeypatch.setenv("HOLDFAST_COMPETITION", "letters")
    assert "letters" in run("config", "view").out
    monkeypatch.delenv("HOLDFAST_COMPETITION")
    run("config", "unset", "-n", "competition")
    assert run("finals").code == 2


def test_signing_out_keeps_the_default_competition(run: Run) -> None:
    run("config", "set", "-n", "competition", "-v", "digits")
    config.forget()
    assert config.load() == Settings(competition="digits")


def test_a_token_of_the_environment_stays_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", URL)
    monkeypatch.setenv("HOLDFAST_TOKEN", "a-token")
    assert config.current("https://elsewhere.example").token == ""
    assert config.current(f"{URL}/").token == "a-token"
