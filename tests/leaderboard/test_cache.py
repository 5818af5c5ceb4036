"""The cache: with Redis away nobody is locked out, and guesses are still counted."""

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
