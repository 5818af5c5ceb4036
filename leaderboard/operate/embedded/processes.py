"""What an embedded start runs: the commands, and what each may know."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from leaderboard.platform import broker

PRIVATE_KEY = "VAULT_PRIVATE_KEY"  # and what begins with it: as file, as value, by a command
LOG_KEY = "LOG_KEY"
MODULE = (sys.executable, "-m")
CELERY = (*MODULE, "celery", "--app", "leaderboard.celery", "--quiet")
WORKER = (*CELERY, "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle")
# Reads, measures and releases large files, so that no small one waits behind them.
LONG = (
    *(*WORKER, "--queues", broker.LONG, "--hostname", "long@%h"),
    *("--concurrency", "1"),
)
# Sends mails and webhooks. It waits for others most of the time, so its threads share a process.
OUTBOX = (
    *(*WORKER, "--queues", broker.OUTBOX, "--hostname", "outbox@%h"),
    *("--pool", "threads", "--concurrency", "4"),
)
# The clock that starts the sweeper.
BEAT = (*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")


def workers(concurrency: int) -> dict[str, tuple[str, ...]]:
    """Return the commands of what reads, measures and releases, and sweeps, by name.

    They are two, which share what is to be done at once: starting takes seconds of processor, and
    when one is killed at a deadline, the other goes on.
    """
    halves = {"worker": concurrency - concurrency // 2, "worker-2": concurrency // 2}
    queues = f"{broker.QUEUE},{broker.SWEEPER}"
    return {
        name: (
            *(*WORKER, "--queues", queues, "--hostname", f"{name}@%h"),
            *("--concurrency", str(half)),
        )
        for name, half in halves.items()
        if half
    }


def web(host: str, port: int) -> tuple[str, ...]:
    """Return the command of the web server; `gunicorn.conf.py` has the rest."""
    # Nothing may keep an embedded start from ending at once.
    quick = ("--graceful-timeout", "2", "--log-level", "warning")
    return (*MODULE, "gunicorn", *quick, "--bind", f"{host}:{port}")


def environment(*, site_url: str, var_dir: Path) -> dict[str, str]:
    """Return what every process gets: the caller's environment and ours, but no private key."""
    return {
        "CONFIRM_TO_JOIN": "false",  # unless the caller asks for it
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith((PRIVATE_KEY, LOG_KEY))
        },
        "SITE_URL": site_url,
        "VAR_DIR": str(var_dir),
        "PYTHONUNBUFFERED": "1",
    }


def as_role(role: str, urls: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of Redis that a process gets; only the web server has a cache."""
    cache = {"REDIS_CACHE_URL": urls["cache"]} if role == "web" else {}
    return {"REDIS_URL": urls[role], **cache}


def with_vault(environment: Mapping[str, str], private_key: Path) -> dict[str, str]:
    """Return the worker's environment: it alone can open the vault, and sign the log.

    Its keys are where the caller's environment says, by default in `private_key` and beside it.
    """
    chosen: dict[str, str] = {}
    for name, file in ((PRIVATE_KEY, private_key), (LOG_KEY, private_key.with_name("log.key"))):
        given = {key: value for key, value in os.environ.items() if key.startswith(name)}
        chosen |= given or {f"{name}_FILE": str(file)}
    return {**environment, **chosen}
