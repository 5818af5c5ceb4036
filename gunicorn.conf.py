"""How gunicorn serves the site; it reads this file wherever it is started from this directory."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from leaderboard.platform import collection

wsgi_app = "leaderboard.wsgi"
# Waits for clients, however slow, and gives whole requests to threads; gunicorn's own worker keeps
# a thread waiting for each.
worker_class = "leaderboard.platform.web_server.BufferingWorker"
threads = 4
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
preload_app = True
timeout = 120
control_socket_disable = True

# How long a thread keeps Python to itself while others wait. Each statement of a transaction lets
# it go, and SQLite's write lock is held until it is back: with the usual 5 ms three times as long.
SWITCH_SECONDS = 0.0005

# Where the web processes count requests together: `prometheus_client` wants to know it when the
# site is imported. In memory, where no upload uses up the room; one for each gunicorn.
MEMORY = Path("/dev/shm")  # noqa: S108
# By which its processes show that they live: not on a disk that may keep them waiting.
worker_tmp_dir = str(MEMORY) if os.access(MEMORY, os.W_OK) else None
COUNTS = "holdfast-requests"


def _count_together() -> None:
    mine = f"{COUNTS}-{os.getpid()}-"
    if mine in os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""):
        return  # the configuration is read again
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    if place:
        for left in place.glob(f"{COUNTS}-*"):  # by one that was killed
            if not Path("/proc", left.name.split("-")[2]).exists():
                shutil.rmtree(left, ignore_errors=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=mine, dir=place)


_count_together()


def post_fork(server: Any, worker: Any) -> None:
    """Look for garbage among what requests make; the site is imported by now."""
    collection.settle()
    sys.setswitchinterval(SWITCH_SECONDS)


def on_exit(server: Any) -> None:
    """Remove the counts, which are for as long as this gunicorn runs."""
    shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
