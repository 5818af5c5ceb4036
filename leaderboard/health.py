"""Whether this process can serve: for load balancers, containers and whoever is on call."""

from typing import Literal

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis
from redis.exceptions import RedisError

_PATIENCE = {"socket_connect_timeout": 1, "socket_timeout": 1}

State = Literal["ok", "away", "old"]


def readiness() -> dict[str, State]:
    """The state of each part. "old" is a database that awaits migrations."""
    return {"database": _database(), "redis": _redis()}


def is_ready(states: dict[str, State]) -> bool:
    """Pages work without Redis, and uploads wait for it: only the database is needed."""
    return states["database"] == "ok"


def _database() -> State:
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError:
        return "away"
    return "old" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def _redis() -> State:
    try:
        with Redis.from_url(settings.REDIS_URL, **_PATIENCE) as redis:
            redis.ping()
    except RedisError:
        return "away"
    return "ok"
