"""Whether this process can serve: for load balancers, containers and whoever is on call."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis
from redis.exceptions import RedisError, ResponseError

State = Literal["ok", "away", "old"]

WORKERS = "holdfast-health:workers"
WORKER_SECONDS = 10.0
SWEEP_SENT = "holdfast-health:sweep-sent"
SWEEP_RUN = "holdfast-health:sweep-run"
SWEEPS = "holdfast-health:sweeps"


@dataclass(frozen=True)
class Sweeps:
    """The sweeper as Redis remembers it: when beat last asked for a sweep and a worker last did
    one (seconds since 1970, None: not since Redis was emptied), and how many were done."""

    sent: float | None
    run: float | None
    count: int


def readiness() -> dict[str, State]:
    """Return the state of each part. "old" is a database that awaits migrations."""
    return {"database": database(), **_redis_and_workers()}


def is_ready(states: dict[str, State]) -> bool:
    """Return whether pages work: without Redis or workers they do, and uploads wait."""
    return states["database"] == "ok"


def database() -> State:
    """Return whether the database answers and has all migrations."""
    try:
        executor = MigrationExecutor(connection)
    except Error:
        return "away"
    return "old" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def note_worker(name: str) -> None:
    """Note that a worker runs, which it does every WORKER_SECONDS."""
    now = time.time()
    old = now - 6 * WORKER_SECONDS
    _write(lambda it: (it.zadd(WORKERS, {name: now}), it.zremrangebyscore(WORKERS, 0, old)))


def note_worker_gone(name: str) -> None:
    """Note that a worker ends."""
    _write(lambda client: client.zrem(WORKERS, name))


def note_sweep_sent() -> None:
    """Note that beat asked for a sweep."""
    _write(lambda client: client.set(SWEEP_SENT, time.time()))


def note_sweep_run() -> None:
    """Note that a worker began a sweep."""
    _write(lambda client: (client.set(SWEEP_RUN, time.time()), client.incr(SWEEPS)))


def _write(note: Callable[[Redis], object]) -> None:
    """Write what monitoring shows; nothing happens while Redis is away.

    Workers and beat read none of it back. A key of another type, which somebody else put there, is
    removed, so that the next note finds its place.
    """
    with suppress(RedisError, OSError), redis_client() as client:
        try:
            note(client)
        except ResponseError:
            client.delete(WORKERS, SWEEP_SENT, SWEEP_RUN, SWEEPS)
            raise


def workers_seen(client: Redis) -> int:
    """Return how many workers said that they run, not long ago."""
    return int(client.zcount(WORKERS, time.time() - 3 * WORKER_SECONDS, "+inf"))


def sweeps() -> Sweeps:
    """Return what was noted, as far as it is a number. Raises RedisError."""
    with redis_client() as client:
        sent, run, count = (_number(client, key) for key in (SWEEP_SENT, SWEEP_RUN, SWEEPS))
    return Sweeps(sent, run, int(count or 0))


def _number(client: Redis, key: str) -> float | None:
    try:
        number = float(client.get(key) or "nan")
    except (ValueError, ResponseError):
        return None
    return number if math.isfinite(number) else None


def redis_client(seconds: float = 1) -> Redis:
    """Return a connection that waits so long and no longer."""
    return Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=seconds, socket_timeout=seconds
    )


def redis() -> State:
    """Return whether Redis answers."""
    return _redis_and_workers()["redis"]


def _redis_and_workers() -> dict[str, State]:
    try:
        with redis_client() as client:
            client.ping()
            return {"redis": "ok", "workers": "ok" if workers_seen(client) else "away"}
    except ResponseError:
        return {"redis": "ok", "workers": "away"}
    except (RedisError, OSError):
        return {"redis": "away", "workers": "away"}
