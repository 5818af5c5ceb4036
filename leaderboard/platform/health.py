"""Whether this process can serve: for load balancers, containers and whoever is on call."""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis
from redis.exceptions import RedisError

State = Literal["ok", "away", "old"]

WORKERS = "holdfast-workers"
WORKER_SECONDS = 10.0
SWEEP_SENT = "sweep-sent"
SWEEP_RUN = "sweep-run"
SWEEPS = "sweeps"


@dataclass(frozen=True)
class Sweeps:
    """The sweeper as Redis remembers it: when beat last asked for a sweep and a worker last did
    one (seconds since 1970, None: not since Redis was emptied), and how many were done."""

    sent: float | None
    run: float | None
    count: int


def readiness() -> dict[str, State]:
    """The state of each part. "old" is a database that awaits migrations."""
    return {"database": database(), "redis": redis()}


def is_ready(states: dict[str, State]) -> bool:
    """Pages work without Redis, and uploads wait for it: only the database is needed."""
    return states["database"] == "ok"


def database() -> State:
    """Whether the database answers and has all migrations."""
    try:
        executor = MigrationExecutor(connection)
    except Error:
        return "away"
    return "old" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def note_worker(name: str) -> None:
    """A worker runs; it says so every WORKER_SECONDS. Nothing happens while Redis is away."""
    now = time.time()
    with suppress(RedisError, OSError), redis_client() as client:
        client.zadd(WORKERS, {name: now})
        client.zremrangebyscore(WORKERS, 0, now - 6 * WORKER_SECONDS)


def note_worker_gone(name: str) -> None:
    """A worker ends."""
    with suppress(RedisError, OSError), redis_client() as client:
        client.zrem(WORKERS, name)


def workers_seen(client: Redis) -> int:
    """How many workers said that they run, not long ago."""
    return int(client.zcount(WORKERS, time.time() - 3 * WORKER_SECONDS, "+inf"))


def note_sweep_sent() -> None:
    """Beat asked for a sweep."""
    cache.set(SWEEP_SENT, time.time(), timeout=None)


def note_sweep_run() -> None:
    """A worker began a sweep."""
    cache.set(SWEEP_RUN, time.time(), timeout=None)
    cache.add(SWEEPS, 0, timeout=None)
    cache.incr(SWEEPS)


def sweeps() -> Sweeps:
    """What was noted."""
    return Sweeps(cache.get(SWEEP_SENT), cache.get(SWEEP_RUN), cache.get(SWEEPS) or 0)


def redis_client(seconds: float = 1) -> Redis:
    """A connection that waits so long and no longer."""
    return Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=seconds, socket_timeout=seconds
    )


def redis() -> State:
    """Whether Redis answers."""
    try:
        with redis_client() as client:
            client.ping()
    except (RedisError, OSError):
        return "away"
    return "ok"
