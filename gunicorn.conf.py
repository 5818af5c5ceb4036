"""How gunicorn serves the site; it reads this file wherever it is started from this directory."""

import os
import shutil
import socket
import struct
import tempfile
from pathlib import Path
from typing import Any

wsgi_app = "leaderboard.wsgi"
# Threads, because a request waits for the database or for a slow upload rather than computes.
worker_class = "gthread"
threads = 4
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
preload_app = True
timeout = 120
control_socket_disable = True

# Where the web processes count requests together: `prometheus_client` wants to know it when the
# site is imported. In memory, where no upload uses up the room; one for each gunicorn.
MEMORY = Path("/dev/shm")  # noqa: S108
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

# Nothing else ends the wait for a client that sends half a request and falls silent, or reads no
# more of its answer: a few of those would keep every thread. Accepted sockets inherit what is set
# on the listener.
SILENCE_SECONDS = 15
# Python's `socket.sendfile` waits for ever, whatever the socket's limits are.
sendfile = False


def when_ready(server: Any) -> None:
    """Sets how long a client may be silent in the middle of a request or of its answer."""
    wait = struct.pack("ll", SILENCE_SECONDS, 0)
    for listener in server.LISTENERS:
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, limit, wait)


def on_exit(server: Any) -> None:
    """Counts are for as long as this gunicorn runs."""
    shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
