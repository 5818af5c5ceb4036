"""Whether this process can serve: for load balancers, containers and whoever is on call."""

from typing import Literal

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

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
    """A value that was just set can be read back; where Redis is away, the cache forgets."""
    cache.set("readiness", 1, timeout=10)
    return "ok" if cache.get("readiness") else "away"
