"""Give every request an id; when it is answered, log and count it."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from leaderboard.platform import logs, request_monitoring

logger = logging.getLogger("leaderboard.access")

HEADER = "X-Request-ID"
SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
# Polled by machines every few seconds: only worth a line when something goes wrong.
STATIC = "static/"
ROUTINE = {"healthz", "readyz", "metrics", STATIC}
NO_PAGE = "no such page"


class RequestLogMiddleware:
    """Run first of all, so that every line logged meanwhile names its request.

    The id is that of the header X-Request-ID, if a proxy sets one of 8 to 64 letters, digits, dots,
    dashes or underscores; the response carries it back.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if SANE.fullmatch(given) else uuid.uuid4().hex
        started = time.monotonic()
        with logs.context(request_id=request_id):
            response = self.get_response(request)
            seconds = time.monotonic() - started
            # A pattern: the address itself can hold a token, or anything else.
            route = STATIC if request.path.startswith("/static/") else None
            if request.resolver_match:
                route = request.resolver_match.route
            request_monitoring.observe(
                request.method or "", route or NO_PAGE, response.status_code, seconds
            )
            _write(request, response, route, seconds)
        response.headers[HEADER] = request_id
        return response


def _write(request: HttpRequest, response: HttpResponse, route: str | None, seconds: float) -> None:
    match = request.resolver_match
    user: Any = getattr(request, "user", None)
    session = getattr(request, "session", None)
    # Only an account that was loaded for the response: the log makes no query.
    account = session.get(SESSION_KEY) if session is not None and session.accessed else None
    if user is not None and not isinstance(user, SimpleLazyObject):
        account = user.pk
    level = logging.DEBUG if route in ROUTINE else logging.INFO
    logger.log(
        logging.WARNING if response.status_code >= 500 else level,
        "%s %s %s",
        request.method,
        route or NO_PAGE,
        response.status_code,
        extra={
            "method": request.method,
            "route": route,
            "status": response.status_code,
            "duration_ms": round(seconds * 1000, 1),
            "competition": match.kwargs.get("slug") if match else None,
            "user_id": account and int(account),
        },
    )
