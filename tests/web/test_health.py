"""What load balancers ask."""

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings


def test_healthz_needs_no_database(client: Client) -> None:
    assert client.get("/healthz").content == b"ok\n"


@pytest.mark.django_db
@pytest.mark.parametrize(("workers", "state"), [(2, "ok"), (0, "away")])
def test_readyz_says_how_each_part_is(
    workers: int, state: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaderboard.platform.health.Redis.ping", lambda _: True)
    monkeypatch.setattr("leaderboard.platform.health.Redis.zcount", lambda *_: workers)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": "ok", "workers": state}


@pytest.mark.django_db
def test_a_site_without_redis_is_ready_because_uploads_can_wait(
    client: Client, settings: Settings
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["redis"] == "away"


def test_a_site_without_database_is_not_ready(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr("leaderboard.platform.health.MigrationExecutor", refuse)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["database"] == "away"


def test_health_is_answered_without_a_detour_over_https(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz").status_code == 200
