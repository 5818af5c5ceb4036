"""The cache: with Redis away nobody is locked out."""

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
