"""Secrets that are given to a process: in a file, in the environment, or by a command."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from leaderboard import vault
from leaderboard.models import Holdout
from leaderboard.platform.secrets import Secret, SecretMissing
from leaderboard.vault import keys
from tests.cast import World

NAME = "VAULT_PRIVATE_KEY"


@pytest.fixture
def key(settings: Settings) -> str:
    """The vault's private key of this run, which nothing names any more."""
    text = Path(settings.VAULT_PRIVATE_KEY_FILE).read_text()
    settings.VAULT_PRIVATE_KEY_FILE = ""
    return text


def test_the_vault_opens_with_a_key_from_the_environment(
    world: World, key: str, settings: Settings
) -> None:
    settings.VAULT_PRIVATE_KEY = key
    assert vault.private_fingerprint() == vault.public_fingerprint()


def test_the_vault_opens_with_a_key_that_a_command_prints(
    world: World, key: str, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text(key)
    settings.VAULT_PRIVATE_KEY_COMMAND = f"cat '{tmp_path / 'kept'}'"
    holdout = Holdout.objects.get()
    vault.check_opens(holdout)
    (tmp_path / "kept").unlink()  # it is asked once
    vault.check_opens(holdout)


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("_FILE", "/nowhere/key", "/nowhere/key can't be read: No such file or directory"),
        ("", "no-such-secret", "VAULT_PRIVATE_KEY holds no vault private key"),
        ("_COMMAND", "sh -c 'echo no-such-secret >&2; exit 3'", "it ended with 3"),
        ("_COMMAND", "no-such-program", "No such file or directory"),
        ("_COMMAND", "true", "VAULT_PRIVATE_KEY_COMMAND gives nothing"),
        ("_COMMAND", "'", "it can't be read"),
        ("_FILE", "", "This process was given none of VAULT_PRIVATE_KEY_FILE"),
    ],
)
def test_what_is_wrong_with_a_key_is_told_without_it(
    key: str, settings: Settings, setting: str, value: str, says: str
) -> None:
    setattr(settings, f"{NAME}{setting}", value)
    with pytest.raises(vault.VaultClosed) as closed:
        keys.private_keys()
    assert says in str(closed.value)
    assert "no-such-secret" not in str(closed.value)


def test_what_failed_once_is_asked_again(key: str, settings: Settings, tmp_path: Path) -> None:
    settings.VAULT_PRIVATE_KEY_COMMAND = f"cat {tmp_path / 'late'}"
    with pytest.raises(SecretMissing):
        Secret(NAME).read()
    (tmp_path / "late").write_text(key)
    assert Secret(NAME).read() == key.strip()


def test_two_places_of_one_secret_stop_the_start() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import leaderboard.settings"],
        env={"VAULT_PRIVATE_KEY": "00", "VAULT_PRIVATE_KEY_FILE": "/key", "SECRET_KEY": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "VAULT_PRIVATE_KEY_FILE, VAULT_PRIVATE_KEY and VAULT_PRIVATE_KEY_COMMAND: set one" in (
        done.stderr
    )


def test_the_public_key_of_a_given_private_one_is_written(
    key: str, settings: Settings, tmp_path: Path
) -> None:
    before = Path(settings.VAULT_PUBLIC_KEY_FILE).read_text()
    settings.VAULT_PRIVATE_KEY, settings.VAULT_PUBLIC_KEY_FILE = key, tmp_path / "public.key"
    call_command("vault_keys", stdout=StringIO())
    assert (tmp_path / "public.key").read_text() == before


def test_a_key_that_is_not_in_a_file_is_not_replaced(key: str, settings: Settings) -> None:
    settings.VAULT_PRIVATE_KEY = key
    with pytest.raises(CommandError, match="Only keys in a file are replaced"):
        call_command("vault_rotate", stdout=StringIO())
