"""The cache: with Redis away nobody is locked out, and guesses are still counted."""

import os
import subprocess
import sys

import pytest
from django.test import Client, override_settings

from leaderboard import settings
from tests.cast import World

AWAY = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}


@pytest.mark.parametrize("path", ["/account/login/"])
def test_people_sign_in_while_redis_is_away(world: World, path: str) -> None:
    with override_settings(CACHES=AWAY):
        answer = Client().post(path, {"login": "alice", "password": "alice-password"})
    assert answer.status_code == 302


def test_guesses_at_a_password_are_counted_while_redis_is_away(world: World) -> None:
    guess = {"login": "alice", "password": "a-guess"}
    with override_settings(CACHES=AWAY):
        answers = [Client().post("/account/login/", guess) for _ in range(6)]
        assert "Too many" in answers[-1].content.decode()
        right = {"login": "alice", "password": "alice-password"}
        assert Client().post("/account/login/", right).status_code != 302


@pytest.mark.parametrize("url", ["http://localhost", "redis://", "redis://localhost:x/0"])
def test_an_address_that_is_none_of_redis_stops_the_start(url: str) -> None:
    environment = {**os.environ, "REDIS_CACHE_URL": url}
    command = [sys.executable, "-c", "import leaderboard.settings"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert '"REDIS_CACHE_URL" invalid' in done.stderr
