"""How gunicorn serves the site; it reads this file wherever it is started from this directory."""

import os

wsgi_app = "leaderboard.wsgi"
# Threads, because a request waits for the database or for a slow upload rather than computes.
worker_class = "gthread"
threads = 4
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
preload_app = True
timeout = 120
control_socket_disable = True
