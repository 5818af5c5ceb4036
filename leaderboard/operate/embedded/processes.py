"""What an embedded start runs: the commands, and what each may know."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# gunicorn.conf.py has the rest. Nothing may keep an embedded start from ending at once.
GUNICORN = ("gunicorn", "--graceful-timeout", "2", "--log-level", "warning")
CELERY = ("celery", "--app", "leaderboard.celery", "--quiet")
WORKER = (*CELERY, "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle")
BEAT = (*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")


def web(host: str, port: int) -> tuple[str, ...]:
    """Return the command of the web server."""
    return _module(*GUNICORN, "--bind", f"{host}:{port}")


def worker() -> tuple[str, ...]:
    """Return the command of the worker that reads, measures and releases."""
    return _module(*WORKER)


def beat() -> tuple[str, ...]:
    """Return the command of the clock that starts the sweeper."""
    return _module(*BEAT)


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


def _module(program: str, *arguments: str) -> tuple[str, ...]:
    """Return `python -m program`, with the Python that runs this."""
    return (sys.executable, "-m", program, *arguments)
