"""What operators see of a running installation: its log."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment
from tests.servers.embedded import free_port

pytestmark = pytest.mark.xdist_group("operation")

SUBMISSIONS = "/api/v1/competitions/digits/submissions/"
REQUEST = "proxy-0123456789"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def site(deploy: Deploy, port: int) -> Deployment:
    """Redis, a worker, beat and the web server, with the logs of servers."""
    site = deploy(LOG_FORMAT="json")
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
    worker = [line for line in lines(site, "worker") if line.get("request_id") == REQUEST]
    assert {line["logger"] for line in web} >= {"leaderboard.access", "leaderboard.pipeline.intake"}
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
