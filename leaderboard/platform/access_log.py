"""Gives every request an id; when it is answered, writes a line and counts it."""

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
# What machines ask every few seconds: only worth a line when it goes wrong.
STATIC = "static/"
ROUTINE = {"healthz", "readyz", "metrics", STATIC}
NO_PAGE = "no such page"


class RequestLogMiddleware:
    """The first of all, so that whatever is logged meanwhile says which request it was for.

    The id is that of the header X-Request-ID, where a proxy sets one and it is 8 to 64 letters,
    digits, dots, dashes or underscores; the answer carries it back.
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
            route = _route(request)
            request_monitoring.observe(
                request.method or "", route or NO_PAGE, response.status_code, seconds
            )
            _write(request, response, route, seconds)
        response.headers[HEADER] = request_id
        return response


def _route(request: HttpRequest) -> str | None:
    """The pattern of its address: the address itself can hold a token, and anything at all."""
    if request.resolver_match:
        return request.resolver_match.route
    return STATIC if request.path.startswith("/static/") else None


def _write(request: HttpRequest, response: HttpResponse, route: str | None, seconds: float) -> None:
    match = request.resolver_match
    logger.log(
        _level(route, response.status_code),
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
            "user_id": _user_id(request),
        },
    )


def _level(route: str | None, status: int) -> int:
    if status >= 500:
        return logging.WARNING
    return logging.DEBUG if route in ROUTINE else logging.INFO


def _user_id(request: HttpRequest) -> int | None:
    """The account's id, as far as answering needed it: the log asks the database nothing."""
    user: Any = getattr(request, "user", None)
    if user is not None and not isinstance(user, SimpleLazyObject):
        found: int | None = user.pk
        return found
    session = getattr(request, "session", None)
    if session is None or not session.accessed:
        return None
    claimed = session.get(SESSION_KEY)
    return int(claimed) if claimed is not None else None
