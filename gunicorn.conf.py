"""How gunicorn serves the site; it reads this file wherever it is started from this directory."""

import os
import socket
import struct
from typing import Any

wsgi_app = "leaderboard.wsgi"
# Threads, because a request waits for the database or for a slow upload rather than computes.
worker_class = "gthread"
threads = 4
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
preload_app = True
timeout = 120
control_socket_disable = True

# Nothing else ends the wait for a client that sends half a request and falls silent: a few of
# those would keep every thread. Accepted sockets inherit what is set on the listener.
SILENCE_SECONDS = 15


def when_ready(server: Any) -> None:
    """Sets how long a client may be silent in the middle of a request."""
    wait = struct.pack("ll", SILENCE_SECONDS, 0)
    for listener in server.LISTENERS:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, wait)
