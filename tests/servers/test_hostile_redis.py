"""Redis is not trusted: whatever a web server's users put there runs nothing and stops nothing."""

import base64
import json
import pickle
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from leaderboard.operate.embedded import redis
from tests.cast import predictions
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment
from tests.servers.embedded import free_port

LOGIN = "/api/v1/auth/login/"
GUESS = {"username": "alice", "password": "a guess"}
DEEP = "[" * 100_000
HUGE = "9" * 100_000


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (str(self.proof), "w")


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is there once a payload has run."""
    return tmp_path_factory.mktemp("hostile") / "it-ran"


@pytest.fixture(scope="module")
def site(deploy: Deploy, static_files: Path) -> Deployment:
    site = deploy()
    shutil.copytree(static_files, site.directory / "static")
    site.start_redis()
    site.start_worker()
    site.start_beat()
    site.ask("set_up")
    return site


@pytest.fixture(scope="module")
def web(site: Deployment) -> Iterator[httpx.Client]:
    port = free_port()
    site.start_web(port)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        site.eventually(lambda: answers(client), bool)
        yield client


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def user(site: Deployment, role: str) -> Redis:
    return Redis.from_url(site.redis_urls[role])


_errors = combinations(range(20, 40), 2)


def assert_all_goes_on(site: Deployment) -> None:
    """The next submission is scored, by the same worker."""
    submission = site.ask("submit", content=predictions(next(_errors)).decode())
    assert site.wait_for(submission, "released")["releases"] == 1
    assert site.process("worker").is_running()
    assert "Unrecoverable error" not in site.logs("worker")


def message(**changes: Any) -> dict[str, Any]:
    """A message as a web server sends it, but for the changes in its headers or properties."""
    body = [[], {"submission_id": 1}, {"callbacks": None, "chain": None}]
    sent: dict[str, Any] = {
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {
            "id": "hostile",
            "task": "leaderboard.tasks.score_submission",
            "expires": None,
            "timelimit": [None, None],
        },
        "properties": {
            "body_encoding": "base64",
            "delivery_tag": "hostile",
            "delivery_info": {"exchange": "", "routing_key": "celery"},
        },
    }
    for name, value in changes.items():
        place = next((part for part in ("headers", "properties") if name in sent[part]), "headers")
        target = sent if name in sent else sent[place]
        target[name] = value
    return sent


def body(*parts: Any) -> str:
    return base64.b64encode(json.dumps(parts).encode()).decode()


CALL = {"task": "leaderboard.tasks.sweep", "args": [], "kwargs": {}, "options": {}}
TASK = "leaderboard.tasks.score_submission"
HOSTILE = {
    "nothing": "",
    "a zero byte": "\x00",
    "no JSON": "{",
    "a text": '"text"',
    "no number": "NaN",
    "an empty object": "{}",
    "deep": DEEP,
    "a huge number": HUGE,
    "a list": "[]",
    "a type of kombu's": '{"__type__": "decimal", "__value__": "x"}',
    "a type nobody knows": '{"__type__": [], "__value__": {}}',
    "no properties": json.dumps({"body": "", "headers": {}}),
    "properties of another type": json.dumps(message() | {"properties": 7}),
    "a deep body": json.dumps(message(body=base64.b64encode(DEEP.encode()).decode())),
    "a body that is no base64": json.dumps(message(body="\u2603")),
    "a body of another shape": json.dumps(message(body=body(1))),
    "YAML": json.dumps(message() | {"content-type": "application/x-yaml"}),
    "compressed": json.dumps(message(compression="application/x-gzip")),
    "another exchange": json.dumps(
        message(delivery_info={"exchange": "x", "routing_key": "unacked"})
    ),
    "another queue": json.dumps(message(delivery_info={"exchange": "", "routing_key": "unacked"})),
    "a tag that is no text": json.dumps(message(delivery_tag={"a": 1})),
    "in a thousand years": json.dumps(message(eta="3026-01-01T00:00:00")),
    "an odd moment": json.dumps(message(eta={"a": 1})),
    "an odd end": json.dumps(message(expires="tomorrow")),
    "an end that is no text": json.dumps(message(expires=[5])),
    "odd limits": json.dumps(message(timelimit=5)),
    "endless limits": json.dumps(message(timelimit=[1e300, None])),
    "odd retries": json.dumps(message(retries="many")),
    "an odd name": json.dumps(message(id=[1])),
    "an unknown task": json.dumps(message(task="os.system")),
    "an unknown task of ours": json.dumps(message(task="leaderboard.tasks.nothing")),
    "a task of Celery's": json.dumps(message(task="celery.map", body=body([TASK, [[1]]], {}, {}))),
    "callbacks": json.dumps(message(body=body([], {}, {"callbacks": [CALL]}))),
    "a chain": json.dumps(message(body=body([], {}, {"chain": [CALL]}))),
    "a mail among submissions": json.dumps(
        message(task="leaderboard.tasks.deliver_mail", body=body([], {}, {}))
    ),
    "arguments that are no keys": json.dumps(message(body=body([], {"submission_id": {}}, {}))),
    "an argument nobody takes": json.dumps(message(body=body([], {"other": 1}, {}))),
    "a key that no database has": json.dumps(message(body=body([], {"submission_id": 2**70}, {}))),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_message_stops_no_worker(name: str, site: Deployment) -> None:
    with user(site, "web") as hostile:
        hostile.lpush("celery", *[HOSTILE[name]] * 5)  # more than a worker has places
    assert_all_goes_on(site)


@pytest.mark.parametrize("kind", ["application/x-python-serialize", "pickle", "application/json"])
def test_a_pickle_on_the_queue_is_not_loaded(kind: str, site: Deployment, proof: Path) -> None:
    pickled = base64.b64encode(pickle.dumps(Payload(proof))).decode()
    sent = message(body=pickled) | {"content-type": kind, "content-encoding": "binary"}
    with user(site, "web") as hostile:
        hostile.lpush("celery", json.dumps(sent), pickle.dumps(Payload(proof)))
    assert_all_goes_on(site)
    assert not proof.exists()


@pytest.mark.parametrize("number", range(4))
def test_what_the_cache_holds_is_not_believed(
    number: int, site: Deployment, web: httpx.Client, proof: Path
) -> None:
    web.post(LOGIN, json=GUESS)
    hostile = [pickle.dumps(Payload(proof)), DEEP, HUGE, '{"a": 1}'][number]
    with user(site, "cache") as cache, user(site, "tester") as tester:
        keys = tester.keys("holdfast:*")
        assert keys
        for key in keys:
            cache.set(key, hostile)
    assert web.post(LOGIN, json=GUESS).status_code == 401
    assert web.get("/account/login/").status_code == 200
    assert not proof.exists()


def test_values_of_the_cache_can_not_be_exchanged(site: Deployment, web: httpx.Client) -> None:
    web.post(LOGIN, json=GUESS)
    with user(site, "cache") as cache, user(site, "tester") as tester:
        one, other = tester.keys("holdfast:1:throttle_login*")
        cache.set(one, cache.get(other) or "")
    assert web.post(LOGIN, json=GUESS).status_code == 401


def test_other_types_where_workers_note_that_they_run_are_put_right(site: Deployment) -> None:
    notes = ["workers", "sweep-sent", "sweep-run", "sweeps"]
    with user(site, "tester") as tester, user(site, "web") as hostile:
        for note in notes:
            tester.delete(f"holdfast-health:{note}")
            hostile.lpush(f"holdfast-health:{note}", "hostile")
        site.eventually(
            lambda: [tester.type(f"holdfast-health:{note}") for note in notes],
            lambda types: bool(types == [b"zset", b"string", b"string", b"string"]),
        )
    assert_all_goes_on(site)


def test_unacknowledged_items_that_are_no_messages_are_dropped(site: Deployment) -> None:
    with user(site, "tester") as tester:
        for tag, item in enumerate(["{", DEEP, "7", "[1, 2, 3]", "[{}, 2, {}]"]):
            tester.hset("unacked", f"hostile-{tag}", item)
            tester.zadd("unacked_index", {f"hostile-{tag}": 1})
        site.stop("worker")
        site.start_worker()
        site.eventually(lambda: tester.zcount("unacked_index", 0, 2), lambda left: left == 0)
    assert_all_goes_on(site)


FORBIDDEN = [
    "CONFIG GET dir",
    "EVAL return(1) 0",
    "SCRIPT LOAD return(1)",
    "MODULE LIST",
    "FLUSHALL",
    "FLUSHDB",
    "KEYS *",
    "SCAN 0",
    "ACL LIST",
    "CLIENT LIST",
    "DEBUG SLEEP 0",
    "SAVE",
    "SHUTDOWN",
    "REPLICAOF localhost 1",
    "MONITOR",
    "PUBLISH /0.celery.pidbox hostile",
    "SUBSCRIBE /0.celery.pidbox",
    "SADD _kombu.binding.celery hostile",
    "HSET unacked tag hostile",
    "ZADD unacked_index 1 hostile",
    "SET unacked_mutex hostile",
    "LPUSH unacked hostile",
]
ALSO = {
    "default": ["INFO", "GET celery", "LPUSH celery hostile"],
    "web": ["SET celery hostile", "DEL celery", "BRPOP celery 1", "GET holdfast:1:throttle"],
    "cache": ["LPUSH celery hostile", "SET holdfast-health:workers hostile", "SET celery hostile"],
    "beat": ["GET holdfast:1:throttle", "GET celery", "SET holdfast-health:workers hostile"],
    "worker": ["GET holdfast:1:throttle", "SET holdfast:1:throttle hostile"],
}
ADMINISTRATION = [FORBIDDEN[0], *FORBIDDEN[3:15]]
COMMANDS = [
    (role, command)
    for role, more in ALSO.items()
    for command in [*(ADMINISTRATION if role == "worker" else FORBIDDEN), *more]
]


@pytest.mark.parametrize(("role", "command"), COMMANDS)
def test_no_user_may_do_what_it_need_not(role: str, command: str, site: Deployment) -> None:
    with user(site, role) as client, pytest.raises(NoPermissionError):
        client.execute_command(*command.split())


def test_every_role_has_a_user() -> None:
    lines = redis.USERS.read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("user ")]
    assert sorted(users) == sorted([*redis.ROLES, "default"])
