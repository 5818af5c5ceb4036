"""What each process of an embedded start is told."""

from pathlib import Path

import pytest

from leaderboard.operate.embedded import processes, redis


def environment() -> dict[str, str]:
    return processes.environment(
        site_url="http://localhost:1", redis_url="redis://localhost:2", var_dir=Path("/var")
    )


def test_a_private_key_from_outside_reaches_the_worker_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VAULT_PRIVATE_KEY_FILE", "/elsewhere/key")
    assert "VAULT_PRIVATE_KEY_FILE" not in environment()
    worker = processes.with_vault(environment(), Path("/elsewhere/key"))
    assert worker["VAULT_PRIVATE_KEY_FILE"] == "/elsewhere/key"


def test_redis_listens_on_this_machine_only_and_asks_for_a_password(tmp_path: Path) -> None:
    server = redis.configure(tmp_path)
    configuration = (tmp_path / "redis.conf").read_text()
    assert "bind 127.0.0.1\n" in configuration
    assert "requirepass " in configuration
    assert "appendonly yes\n" in configuration
    assert server.url not in repr(server)


def test_redis_keeps_its_port_from_start_to_start(tmp_path: Path) -> None:
    first, second = redis.configure(tmp_path), redis.configure(tmp_path)
    assert first.url.rsplit(":", 1)[1] == second.url.rsplit(":", 1)[1]
    assert first.url != second.url


def test_without_a_redis_on_path_the_shipped_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Path(redis.executable()).is_file()
