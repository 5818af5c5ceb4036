"""Count requests and their time. Web processes of one gunicorn share the counts in files.

`gunicorn.conf.py` sets their folder, PROMETHEUS_MULTIPROC_DIR, before this is imported; without it
(tests, `runserver`) the process counts for itself. Counts restart with gunicorn, as Prometheus
expects of counters.
"""

import os
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
EDGES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_here = CollectorRegistry()
_requests = Counter(
    "holdfast_http_requests",
    "Requests answered.",
    ["method", "route", "status"],
    registry=_here,
)
_seconds = Histogram(
    "holdfast_http_request_seconds",
    "Time to answer a request.",
    ["route"],
    buckets=EDGES,
    registry=_here,
)


def observe(method: str, route: str, status: int, seconds: float) -> None:
    """Count a request. Labels are patterns of our own addresses: nobody can add to them."""
    known = method if method in METHODS else "other"
    with suppress(OSError):  # a full disk is no reason to fail
        _requests.labels(known, route, status).inc()
        _seconds.labels(route).observe(seconds)


def registry() -> CollectorRegistry:
    """Return the counts of all web processes."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return _here
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together
