"""What `make run` starts, keeps and leaves behind."""

import csv
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers.deployment import PATIENCE_SECONDS
from tests.servers.embedded import Embedded, free_port, processes_of, start, started_before

READY = {"database": "ok", "redis": "ok", "workers": "ok"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which Holdfast has been started once before, for one long start."""
    return copy(tmp_path_factory)


def copy(factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(started_before(factory), factory.mktemp("home") / "var"))


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Embedded]:
    """A later start in the same directory."""
    with Embedded(home) as site:
        site.wait_until_ready()
        yield site


def password_of(name: str, home: Path) -> str:
    lines = (home / "demo-accounts.txt").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.split()[0] == name)


def test_it_answers_that_it_lives_and_is_ready(site: Embedded) -> None:
    with site.client() as client:
        assert client.get("/healthz").text == "ok\n"
        wait_until(lambda: is_ready(client))


def test_it_prints_the_address_and_the_demo_accounts(site: Embedded, home: Path) -> None:
    assert f"http://localhost:{site.port}" in site.output
    assert password_of("alice", home) in site.output


def test_commands_in_another_terminal_know_the_address(site: Embedded, home: Path) -> None:
    code = "from leaderboard import settings; print(settings.SITE_URL)"
    environment = {**os.environ, "VAR_DIR": str(home)}
    environment.pop("SITE_URL", None)
    said = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert said.strip() == f"http://localhost:{site.port}"


@pytest.mark.parametrize("slug", ["digits", "breast-cancer"])
def test_the_baselines_stand_on_the_board(site: Embedded, slug: str) -> None:
    with site.client() as client:
        board = client.get(f"/c/{slug}/leaderboard.csv")
    rows = list(csv.DictReader(io.StringIO(board.text)))
    assert len(rows) == 3


def test_a_demo_account_can_sign_in(site: Embedded, home: Path) -> None:
    who = {"username": "alice", "password": password_of("alice", home)}
    with site.client() as client:
        token = client.post("/api/v1/auth/login/", json=who).json()["token"]
        me = client.get("/api/v1/me/", headers={"Authorization": f"Token {token}"})
    assert me.json()["username"] == "alice"


def test_what_it_keeps_is_for_its_owner_only(site: Embedded, home: Path) -> None:
    assert home.stat().st_mode & 0o777 == 0o700
    for name in ("secret_key", "vault/private.key", "demo-accounts.txt", "redis/redis.conf"):
        assert (home / name).stat().st_mode & 0o777 == 0o600, name


def test_only_the_worker_is_told_where_the_private_key_is(site: Embedded, home: Path) -> None:
    knowing = {
        pid
        for pid, environment in processes_of(home).items()
        if "VAULT_PRIVATE_KEY_FILE" in environment
    }
    workers = {site.pid(name) for name in ("worker", "worker-2", "long")}
    assert {os.getsid(pid) for pid in knowing} == workers


def test_a_second_start_in_the_same_directory_is_refused(site: Embedded, home: Path) -> None:
    second = start(home, free_port())
    output, _ = second.communicate(timeout=PATIENCE_SECONDS)
    assert second.returncode == 1
    assert "runs already" in output


def test_a_port_in_use_is_said_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = start(tmp_path, port)
        output, _ = refused.communicate(timeout=PATIENCE_SECONDS)
    assert refused.returncode == 1
    assert f"Can't listen on port {port} of 127.0.0.1: Address already in use" in output
    assert not (tmp_path / "db.sqlite3").exists()


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another such directory, for a start that may end badly."""
    return copy(tmp_path_factory)


def test_an_interruption_stops_everything(elsewhere: Path) -> None:
    with Embedded(elsewhere) as site:
        site.wait_until_ready()
        assert site.end(signal.SIGINT) == 0
    assert processes_of(elsewhere) == {}


def test_a_killed_process_is_started_again_and_files_are_scored(elsewhere: Path) -> None:
    with Embedded(elsewhere) as site:
        site.wait_until_ready()
        for name in ("redis", "worker", "worker-2", "outbox", "beat", "web"):
            before = site.pid(name)
            os.kill(before, signal.SIGKILL)
            site.wait_until_it_says(f"{name} ended by itself and is started again")
            wait_until(lambda name=name, before=before: site.pid(name) != before)  # type: ignore[misc]  # the loop's own
        with site.client() as client:
            wait_until(lambda: is_ready(client))
            assert scored(client, password_of("alice", elsewhere)) == "released"
        assert site.end(signal.SIGTERM) == 0
    assert processes_of(elsewhere) == {}


def test_nothing_outlives_a_supervisor_that_was_killed(elsewhere: Path) -> None:
    with Embedded(elsewhere) as site:
        site.wait_until_ready()
        site.end(signal.SIGKILL)
        wait_until_gone(elsewhere)


def test_a_reader_that_goes_away_does_not_leave_a_headless_site(elsewhere: Path) -> None:
    process = start(elsewhere, free_port())
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=PATIENCE_SECONDS)
    assert processes_of(elsewhere) == {}


def is_ready(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/readyz").json() == READY)
    except httpx.TransportError:
        return False


def scored(client: httpx.Client, password: str) -> str:
    """What becomes of a file of alice's."""
    who = {"username": "alice", "password": password}
    token = client.post("/api/v1/auth/login/", json=who).json()["token"]
    client.headers["Authorization"] = f"Token {token}"
    digits = "/api/v1/competitions/digits/"
    client.post(f"{digits}join/", json={"accept_rules": True, "team_name": "After the crash"})
    sample = client.get(f"{digits}files/sample_submission.csv/").content
    sent = client.post(f"{digits}submissions/", files={"file": ("mine.csv", sample)})
    address = f"{digits}submissions/{sent.json()['number']}/"
    wait_until(lambda: bool(client.get(address).json()["is_final"]))
    status: str = client.get(address).json()["status"]
    return status


def wait_until_gone(directory: Path) -> None:
    wait_until(lambda: not processes_of(directory))


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.1)
