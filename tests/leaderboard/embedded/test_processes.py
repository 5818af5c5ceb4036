"""What each process of an embedded start is told."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from leaderboard.operate.embedded import processes, redis


def environment() -> dict[str, str]:
    return processes.environment(site_url="http://localhost:1", var_dir=Path("/var"))


def test_a_private_key_from_outside_reaches_the_worker_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VAULT_PRIVATE_KEY_FILE", "/elsewhere/key")
    assert "VAULT_PRIVATE_KEY_FILE" not in environment()
    worker = processes.with_vault(environment(), Path("/elsewhere/key"))
    assert worker["VAULT_PRIVATE_KEY_FILE"] == "/elsewhere/key"


def test_each_process_gets_its_own_user_of_redis_and_only_web_a_cache() -> None:
    urls = {role: f"redis://{role}:secret@localhost:2/0" for role in redis.ROLES}
    assert processes.as_role("worker", urls) == {"REDIS_URL": urls["worker"]}
    assert processes.as_role("beat", urls) == {"REDIS_URL": urls["beat"]}
    assert processes.as_role("web", urls) == {
        "REDIS_URL": urls["web"],
        "REDIS_CACHE_URL": urls["cache"],
    }


def test_redis_listens_on_this_machine_only_and_asks_for_passwords(tmp_path: Path) -> None:
    server = redis.configure(tmp_path)
    configuration = (tmp_path / "redis.conf").read_text()
    assert "bind 127.0.0.1\n" in configuration
    assert "appendonly yes\n" in configuration
    passwords = {urlsplit(url).password for url in server.urls.values()}
    assert len(passwords) == len(redis.ROLES)
    assert all(f">{password} " in configuration for password in passwords)
    assert "redis://" not in repr(server)
    for name in ("redis.conf", "worker.url"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_redis_keeps_its_port_from_start_to_start(tmp_path: Path) -> None:
    first, second = (redis.configure(tmp_path).urls["web"] for _ in range(2))
    assert urlsplit(first).port == urlsplit(second).port
    assert first != second


def test_without_a_redis_on_path_the_shipped_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Path(redis.executable()).is_file()


@pytest.mark.parametrize(
    ("at_once", "shares"),
    [
        (1, {"worker": "1"}),
        (2, {"worker": "1", "worker-2": "1"}),
        (5, {"worker": "3", "worker-2": "2"}),
    ],
)
def test_two_workers_share_what_is_done_at_once(at_once: int, shares: dict[str, str]) -> None:
    commands = processes.workers(at_once)
    assert {name: command[-1] for name, command in commands.items()} == shares
