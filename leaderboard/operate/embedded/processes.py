"""What an embedded start runs: the commands, and what each may know."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from leaderboard.platform import broker

MODULE = (sys.executable, "-m")
CELERY = (*MODULE, "celery", "--app", "leaderboard.celery", "--quiet")
_WORKER = (*CELERY, "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle")
# Reads, measures and releases.
WORKER = (*_WORKER, "--queues", broker.QUEUE)
# Sends mails and webhooks. It waits for others most of the time, so its threads share a process.
OUTBOX = (
    *(*_WORKER, "--queues", broker.OUTBOX, "--hostname", "outbox@%h"),
    *("--pool", "threads", "--concurrency", "4"),
)
# The clock that starts the sweeper.
BEAT = (*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")


def web(host: str, port: int) -> tuple[str, ...]:
    """Return the command of the web server; `gunicorn.conf.py` has the rest."""
    # Nothing may keep an embedded start from ending at once.
    quick = ("--graceful-timeout", "2", "--log-level", "warning")
    return (*MODULE, "gunicorn", *quick, "--bind", f"{host}:{port}")


def environment(*, site_url: str, var_dir: Path) -> dict[str, str]:
    """Return what every process gets: the caller's environment and ours, but no private key."""
    return {
        **{name: value for name, value in os.environ.items() if name != "VAULT_PRIVATE_KEY_FILE"},
        "SITE_URL": site_url,
        "VAR_DIR": str(var_dir),
        "PYTHONUNBUFFERED": "1",
    }


def as_role(role: str, urls: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of Redis that a process gets; only the web server has a cache."""
    cache = {"REDIS_CACHE_URL": urls["cache"]} if role == "web" else {}
    return {"REDIS_URL": urls[role], **cache}


def with_vault(environment: Mapping[str, str], private_key: Path) -> dict[str, str]:
    """Return the worker's environment: the only one that can open the vault."""
    return {"VAULT_PRIVATE_KEY_FILE": str(private_key), **environment}
