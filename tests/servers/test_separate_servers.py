"""Web and worker as separate processes on PostgreSQL and Redis, with docker-compose.yml's settings.

There is no container here: the processes get the environment that their services are given there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml
from redis import Redis
from redis.exceptions import RedisError

from leaderboard.operate.embedded import redis
from tests.cast import predictions
from tests.servers import units
from tests.servers.conftest import Deploy
from tests.servers.deployment import ROOT, Deployment
from tests.servers.embedded import free_port
from tests.servers.postgres import PostgresServer

# What is set for a test instead of in .env, and addresses instead of other containers'.
CHOSEN = {
    "SITE_URL": "https://holdfast.example",
    "BEHIND_PROXY": "true",
    "SECRET_KEY": "for-tests-only-" + "0123456789" * 5,
    "POSTGRES_PASSWORD": "not-used-here",
    "REDIS_WEB_PASSWORD": "not-used-here",
    "REDIS_CACHE_PASSWORD": "nor-this",
    "REDIS_WORKER_PASSWORD": "nor-that",
    "REDIS_BEAT_PASSWORD": "nor-any",
}
PROXY = {"Host": "holdfast.example", "X-Forwarded-Proto": "https"}
UNIT_PROXY = PROXY | {"Host": "holdfast.example.org"}


def service(name: str) -> dict[str, Any]:
    """A service of docker-compose.yml."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = compose["services"][name]
    return found


def environment_of(name: str, site: Deployment) -> dict[str, str]:
    """The environment of a service, with the volumes and hosts of this machine."""
    variable = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*)|:\?[^}]*)?\}")
    given = {
        key: variable.sub(lambda found: CHOSEN.get(found["name"], found["default"] or ""), text)
        for key, text in service(name)["environment"].items()
    }
    here = {"DATABASE_URL": site.environment["DATABASE_URL"]}
    for key in ("REDIS_URL", "REDIS_CACHE_URL"):
        role = urlsplit(given.get(key, "")).username
        here[key] = site.redis_urls[role] if role else ""
    vault = re.compile("/vault/(public|private)/")
    there = {key: vault.sub(f"{site.directory}/vault/", text) for key, text in given.items()}
    if "WATERMARK_DIR" in there:
        there["WATERMARK_DIR"] = str(site.directory / "watermark")
    return there | here


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def site(
    deploy: Deploy, new_database: Callable[[], str], port: int, static_files: Path
) -> Deployment:
    """Web and two workers, started as the composition starts them."""
    site = deploy(new_database())
    shutil.copytree(static_files, site.directory / "static")
    site.start_redis()
    gunicorn = (sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}")
    site.start("web", gunicorn, environment_of("web", site))
    worker = (sys.executable, "-m", *service("worker")["command"])
    for name in ("worker-1", "worker-2"):
        hostname = ("--hostname", f"{name}@%h")
        site.start(name, (*worker, *hostname), environment_of("worker", site))
    return site


@pytest.fixture(scope="module")
def token(site: Deployment) -> str:
    """Alice's token."""
    made: str = site.ask("set_up")
    return made


@pytest.fixture
def alice(site: Deployment, token: str, port: int) -> Iterator[httpx.Client]:
    """Alice's program, on the other side of the proxy that speaks https."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=PROXY, timeout=30) as client:
        site.eventually(lambda: is_up(client), bool)
        client.headers["Authorization"] = f"Token {token}"
        yield client


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


SUBMISSIONS = "/api/v1/competitions/digits/submissions/"


def submit(alice: httpx.Client, content: bytes) -> int:
    """Uploads a file. Returns the submission's number."""
    answer = alice.post(SUBMISSIONS, files={"file": ("mine.csv", content)})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["number"]
    return number


def test_only_the_worker_is_given_the_private_key() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    mounted = {
        name
        for name, service in compose["services"].items()
        if any("/vault/private" in volume for volume in service.get("volumes", []))
    }
    told = {
        name
        for name, service in compose["services"].items()
        if "VAULT_PRIVATE_KEY_FILE" in service.get("environment", {})
    }
    assert mounted == {"worker", "long", "keys"}  # `keys` draws it once and ends
    assert told == {"worker", "long"}


def test_nothing_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    defaults = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text))
    secrets = {name: value for name, value in defaults.items() if re.search("KEY|PASSWORD", name)}
    assert not any(secrets.values())
    required = set(re.findall(r"\$\{(\w+):\?", text))
    assert {"SITE_URL", "SECRET_KEY", "POSTGRES_PASSWORD"} <= required
    assert {f"REDIS_{role.upper()}_PASSWORD" for role in redis.ROLES} <= required


def test_the_example_names_every_variable_of_the_composition() -> None:
    used = set(re.findall(r"(?<!\$)\$\{(\w+):", (ROOT / "docker-compose.yml").read_text()))
    example = (ROOT / ".env.example").read_text()
    named = set(re.findall(r"^(\w+)=", example, flags=re.MULTILINE))
    assert used == named


def test_each_service_is_another_user_of_redis(site: Deployment) -> None:
    known = {name: environment_of(name, site) for name in ("web", "worker", "beat")}
    for name, environment in known.items():
        assert environment["REDIS_URL"] == site.redis_urls[name]
    caches = {name: environment["REDIS_CACHE_URL"] for name, environment in known.items()}
    assert caches == {"web": site.redis_urls["cache"], "worker": "", "beat": ""}


def test_the_composition_s_redis_knows_these_users_and_no_other(tmp_path: Path) -> None:
    told = service("redis")
    port = free_port()
    (tmp_path / "redis-server").symlink_to(redis.executable())
    place = next(each for each in told["volumes"] if "users.acl" in each).split(":")
    assert (ROOT / place[0]) == redis.USERS
    script = told["command"][2].replace("$$", "$").replace(place[1], str(redis.USERS))
    script = (
        script.replace(" > /tmp", f" > {tmp_path}").replace("file /tmp", f"file {tmp_path}").strip()
        + f" --port {port} --bind 127.0.0.1"
    )
    passwords = {name: CHOSEN[name] for name in told["environment"]}
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(["sh", "-c", script], cwd=tmp_path, env=path | passwords) as server:
        try:
            users = {role: CHOSEN[f"REDIS_{role.upper()}_PASSWORD"] for role in redis.ROLES}
            while not answers(port, "default", ""):
                assert server.poll() is None
            assert [role for role in users if not answers(port, role, users[role])] == []
            assert [role for role in users if answers(port, role, "guessed")] == []
        finally:
            server.terminate()
    assert (tmp_path / "users.acl").stat().st_mode & 0o777 == 0o600


def answers(port: int, user: str, password: str) -> bool:
    with Redis(port=port, username=user, password=password) as client:
        try:
            return bool(client.ping())
        except RedisError:
            return False


def test_each_unit_of_systemd_starts_as_it_is_written(site: Deployment, token: str) -> None:
    port = str(free_port())
    (site.directory / "scratch").mkdir()
    for name in ("web", "worker", "long", "outbox", "beat"):
        (command,) = units.commands(f"holdfast-{name}")
        command = tuple(each.replace(":8000", f":{port}") for each in command)
        hostname = ("--hostname", f"unit-{name}@%h") if "worker" in command else ()
        given = units.variables(f"holdfast-{name}", site)
        site.start(f"unit-{name}", (*command, *hostname), given)
    for once in ("migrate", "backup"):
        for command in units.commands(f"holdfast-{once}"):
            given = site.environment | units.variables(f"holdfast-{once}", site)
            subprocess.run(command, cwd=ROOT, env=given, check=True, capture_output=True)
    assert list((site.directory / "backups").glob("*/backup.json"))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=UNIT_PROXY) as client:
        site.eventually(lambda: is_up(client), bool)
    for name in ("unit-worker", "unit-outbox"):
        site.eventually(partial(site.logs, name), lambda log: " ready." in log)
    # Of a file without a message only beat's sweeps remind the workers.
    waiting = site.ask("submit", content=predictions([31]).decode(), silent=True)
    site.wait_for(waiting, "released")


def test_an_upload_over_the_web_is_scored_by_a_worker(
    site: Deployment, alice: httpx.Client
) -> None:
    number = submit(alice, predictions([30]))
    status = site.eventually(
        lambda: alice.get(f"{SUBMISSIONS}{number}/").json()["status"],
        lambda status: status not in {"queued", "scoring"},
    )
    assert status == "released"


def test_many_uploads_at_once_on_two_workers_make_one_release_each(
    site: Deployment, alice: httpx.Client
) -> None:
    contents = [predictions([20, 21 + extra]) for extra in range(12)]
    with ThreadPoolExecutor(max_workers=6) as pool:
        numbers = list(pool.map(lambda content: submit(alice, content), contents))
    assert len(set(numbers)) == len(contents)
    site.eventually(
        lambda: {alice.get(f"{SUBMISSIONS}{number}/").json()["status"] for number in numbers},
        lambda statuses: bool(statuses == {"released"}),
    )
    ledger = alice.get("/api/v1/competitions/digits/ledger/").json()["results"]
    entries = sorted(entry["number"] for entry in ledger)
    assert entries == list(range(1, len(entries) + 1))


def test_a_full_disk_is_a_problem_that_counts_nothing(
    site: Deployment, alice: httpx.Client
) -> None:
    before = alice.get(SUBMISSIONS).json()["count"]
    with site.full_disk("web"):
        answer = alice.post(SUBMISSIONS, files={"file": ("mine.csv", predictions([9]))})
    assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")
    assert alice.get(SUBMISSIONS).json()["count"] == before


def test_without_its_database_the_site_says_so_and_comes_back(
    alice: httpx.Client, postgres_server: PostgresServer
) -> None:
    postgres_server.stop_at_once()
    try:
        page, problem = alice.get("/c/digits/leaderboard/"), alice.get("/api/v1/competitions/")
    finally:
        postgres_server.start_again()
    assert (page.status_code, problem.status_code) == (503, 503)
    assert int(page.headers["Retry-After"]) == int(problem.headers["Retry-After"]) > 0
    assert "work at the moment" in page.text
    assert problem.json()["code"] == "unavailable"
    assert alice.get("/c/digits/leaderboard/").status_code == 200


def test_pages_are_for_https_only(site: Deployment, alice: httpx.Client) -> None:
    page = alice.get("/")
    assert page.status_code == 200
    assert "max-age=31536000" in page.headers["Strict-Transport-Security"]
    plain = alice.get("/", headers={"X-Forwarded-Proto": "http"})
    assert plain.headers["Location"].startswith("https://holdfast.example")


def test_a_forged_host_is_refused(alice: httpx.Client) -> None:
    assert alice.get("/", headers={"Host": "elsewhere.example"}).status_code == 400
