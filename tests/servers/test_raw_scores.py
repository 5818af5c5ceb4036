"""With a real worker, Redis and files, and everything said as loudly as it can be: a raw score is
in no message, key, file or log, nor in the database's own file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
import redis

from scoring import metrics
from scoring.predictions import (
    Schema,
    Usage,
    read_predictions,
    read_row_ids,
    read_solution,
)
from tests import needles
from tests.needles import Needles
from tests.servers.conftest import Deploy
from tests.servers.deployment import Deployment
from tests.test_raw_scores import LABEL, SCHEMA, guesses, solution

OFFS = (11.0, 23.0, 31.0)
# What participants sent, and the key itself: neither says anything of the other.
NOT_OURS = ("storage/submissions", "vault")


def raw_scores() -> Needles:
    """Those of the files below, computed here."""
    schema = Schema.from_json(SCHEMA)
    sample = b"id,label\n" + b"".join(b"r%d,0\n" % row for row in range(40))
    ids = read_row_ids(sample, schema)
    truth = read_solution(solution(), schema, ids)
    metric = metrics.get("mae")
    found = LABEL
    for off in OFFS:
        predicted = read_predictions(guesses(off), schema, ids)
        hidden = truth.usage == Usage.PRIVATE
        mean = metric.measure(predicted, truth, hidden, metric.parse({"clip": "100"}))
        found += needles.of_mean(mean)
    return found


@contextmanager
def listening(url: str, heard: list[bytes]) -> Iterator[None]:
    """Notes every command that anyone sends to Redis."""
    client = redis.Redis.from_url(url, socket_timeout=None)  # there may be nothing to hear
    with client.monitor() as monitor:  # type: ignore[no-untyped-call]  # redis has no types here

        def listen() -> None:
            for command in monitor.listen():
                heard.append(repr(command).encode())
                if "the end" in str(command):
                    return

        thread = Thread(target=listen, daemon=True)
        thread.start()
        yield
        client.echo("the end")
        thread.join()
    client.close()


def everything_below(directory: Path) -> Iterator[tuple[str, bytes]]:
    """All files with their names: database, logs, append-only file, storage."""
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_file() and not name.startswith(NOT_OURS):
            yield name, path.read_bytes()


@pytest.fixture
def site(deploy: Deploy) -> Deployment:
    site = deploy(DEBUG="true", LOG_LEVEL="DEBUG", LOG_FORMAT="json")
    site.start_redis()
    site.ask("set_up_numbers", solution=solution().decode())
    return site


def test_a_raw_score_is_in_no_message_key_file_or_log(site: Deployment) -> None:
    heard: list[bytes] = []
    with listening(site.redis_urls["tester"], heard):
        site.start_worker()
        for off in OFFS[:2]:
            site.wait_for(site.ask("submit", content=guesses(off).decode()), "released")
        site.ask("spoil_the_team")
        site.wait_for(site.ask("submit", content=guesses(OFFS[2]).decode()), "failed")
    keys = _all_keys(site.redis_urls["tester"])
    site.stop("worker")
    site.stop("redis")
    looked_for = raw_scores()
    found = {name: looked_for.found_in(blob) for name, blob in everything_below(site.directory)}
    assert {"db.sqlite3", "worker.log"} <= set(found)
    assert {name: what for name, what in found.items() if what} == {}
    assert any(b"score_submission" in each for each in heard)
    assert looked_for.found_in(b"\n".join(heard)) == []
    assert looked_for.found_in(keys) == []
    _plant_and_find(site.directory, looked_for)


def _all_keys(url: str) -> bytes:
    """Every key of Redis with its value as it is kept."""
    with redis.Redis.from_url(url) as client:
        names = list(client.scan_iter())
        return b"\n".join(part for name in names for part in (name, client.dump(name) or b""))


def _plant_and_find(directory: Path, looked_for: Needles) -> None:
    """So that the search above is not empty: a copy of the log with a score in it is found."""
    log = directory / "planted.log"
    shutil.copy(directory / "worker.log", log)
    with log.open("ab") as file:
        file.write(f"loss {_some_score()!r}".encode())
    assert dict(everything_below(directory))["planted.log"]
    assert looked_for.found_in(log.read_bytes())


def _some_score() -> float:
    names = [each.name for each in raw_scores().all if each.name.startswith("the fraction")]
    return float(names[0].removeprefix("the fraction "))
