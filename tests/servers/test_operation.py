"""What operators see of a running installation: its log, its metrics, what the doctor says."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import PRIVATE_KEY, ROOT, Deployment
from tests.servers.embedded import free_port

SUBMISSIONS = "/api/v1/competitions/digits/submissions/"
REQUEST = "proxy-0123456789"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def site(deploy: Deploy, port: int) -> Deployment:
    """Redis, a worker, beat and the web server, with the logs of servers."""
    # No sweep comes in between: what it sends has no request's id.
    site = deploy(LOG_FORMAT="json", SWEEP_SECONDS="60", METRICS_TOKEN="")
    (site.directory / "static").mkdir()
    (site.directory / "static" / "staticfiles.json").write_text('{"paths": {}, "version": "1.1"}')
    site.start_redis()
    site.start_worker()
    site.start_beat()
    site.start_web(port)
    return site


@pytest.fixture(scope="module")
def alice(site: Deployment, port: int) -> Iterator[httpx.Client]:
    """Alice's program."""
    token = site.ask("set_up")
    headers = {"Authorization": f"Token {token}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as client:
        site.eventually(lambda: is_up(client), bool)
        yield client


@pytest.fixture(scope="module")
def scored(site: Deployment, alice: httpx.Client) -> int:
    """The number of a submission that went all the way."""
    answer = alice.post(
        SUBMISSIONS,
        files={"file": ("mine.csv", predictions([30]))},
        headers={"X-Request-ID": REQUEST},
    )
    number: int = answer.json()["number"]
    site.eventually(
        lambda: alice.get(f"{SUBMISSIONS}{number}/").json()["status"],
        lambda status: bool(status == "released"),
    )
    return number


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def lines(site: Deployment, name: str) -> list[dict[str, Any]]:
    """The log of a process."""
    text = (site.directory / f"{name}.log").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_every_line_is_a_json_object(site: Deployment, scored: int, name: str) -> None:
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines(site, name))


def test_an_upload_and_its_scoring_share_the_ids(site: Deployment, scored: int) -> None:
    web = [line for line in lines(site, "web") if line.get("request_id") == REQUEST]
    assert {line["logger"] for line in web} >= {"leaderboard.access", "leaderboard.pipeline.intake"}
    worker = site.eventually(
        lambda: [line for line in lines(site, "worker") if line.get("request_id") == REQUEST], bool
    )
    assert [line["logger"] for line in worker] == ["leaderboard.tasks"]
    assert {line["submission_id"] for line in web + worker} == {worker[0]["submission_id"]}


def test_no_line_holds_a_score_or_a_token(
    site: Deployment, alice: httpx.Client, scored: int
) -> None:
    released = alice.get(f"{SUBMISSIONS}{scored}/").json()["release"]["score"]
    token = alice.headers["Authorization"].removeprefix("Token ")
    said = site.logs("web", "worker", "beat")
    assert released is not None
    assert not any(text in said for text in (str(released), f"{31 / 32}", token, "alice"))


def metric(client: httpx.Client, sample: str) -> float:
    """The value of a sample, named with its labels; NaN where there is none."""
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines())
    return float(lines.get(sample, "nan"))


def test_prometheus_is_told_of_worker_and_release(alice: httpx.Client, scored: int) -> None:
    assert metric(alice, "holdfast_workers") == 1
    assert metric(alice, 'holdfast_releases_total{competition="digits"}') == 1
    assert metric(alice, 'holdfast_up{part="redis"}') == 1


def test_requests_are_counted_over_all_web_processes(alice: httpx.Client, port: int) -> None:
    for _ in range(20):  # each on a connection of its own, so that both processes get some
        httpx.get(f"http://127.0.0.1:{port}/api/v1/me/", timeout=30)
    counted = 'holdfast_http_requests_total{method="GET",route="api/v1/me/",status="401"}'
    assert {metric(alice, counted) for _ in range(5)} == {20}


def doctor(site: Deployment, **more: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Runs the doctor. Returns how it ended and what each check found."""
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json", "--timeout", "60"],
        cwd=ROOT,
        env={**site.environment, **site.redis("worker"), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, list[dict[str, str]]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    return done.returncode, found


def wrong(found: dict[str, list[dict[str, str]]]) -> set[str]:
    return {name for name, rows in found.items() for row in rows if row["state"] == "wrong"}


def test_the_doctor_finds_a_site_well_that_runs(site: Deployment, scored: int) -> None:
    key = str(site.directory / PRIVATE_KEY)
    # A worker on a busy machine may need longer for its answer than the doctor waits.
    code, found = site.eventually(
        lambda: doctor(site, VAULT_PRIVATE_KEY_FILE=key), lambda seen: not wrong(seen[1])
    )
    assert code == 0
    assert "with this code and the vault's key" in found["workers"][0]["says"]
    assert found["holdouts"][0]["says"] == "1 active: each is there and opens."
    assert "Redis, worker@" in found["clocks"][0]["says"]


def test_the_doctor_misses_a_worker_that_was_killed(site: Deployment, scored: int) -> None:
    site.stop("worker", signal.SIGKILL)
    code, found = doctor(site)
    assert code == 1
    assert wrong(found) == {"workers"}
    assert "Start one: `make run`" in found["workers"][0]["fix"]


def test_the_doctor_says_all_it_can_while_redis_is_away(site: Deployment, scored: int) -> None:
    site.stop("redis")
    code, found = doctor(site)
    assert code == 1
    # Nobody signs heads meanwhile, which is wrong after a minute.
    assert wrong(found) - {"public log"} == {"redis"}
    assert found["workers"][0]["fix"] == "See redis."
    assert found["database"][0]["state"] == "ok"
