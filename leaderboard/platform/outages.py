"""Outages that pass and are nobody's fault: a database or storage that is away, a full disk."""

import errno
import sqlite3
import sys
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import defaults

from leaderboard.errors import PROBLEM_TYPE, Refused

RETRY_AFTER_SECONDS = 30
_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_POSTGRESQL = "53100"


class StorageAway(OSError):
    """The object storage can't be reached, or refuses; its cause says how."""


def is_full(error: BaseException) -> bool:
    """Return whether the disk of the files, or that of the database, is full."""
    if isinstance(error, OSError):
        return error.errno in _FULL_DISK
    cause = error.__cause__
    return isinstance(error, OperationalError) and (
        getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(cause, "sqlstate", None) == _FULL_POSTGRESQL
    )


def is_outage(error: BaseException) -> bool:
    """Return whether a retry may succeed: something is away or busy, or a disk is full."""
    return isinstance(error, (OperationalError, InterfaceError, StorageAway)) or is_full(error)


def refusal(error: BaseException | None) -> Refused | None:
    """Return how to answer during an outage; None for any other error."""
    if error is None or not is_outage(error):
        return None
    return Refused("storage_full" if is_full(error) else "unavailable")


def headers(refused: Refused) -> dict[str, str]:
    """Return the header that names when to come back."""
    seconds = refused.facts.get("seconds", RETRY_AFTER_SECONDS if refused.status == 503 else None)
    return {} if seconds is None else {"Retry-After": str(seconds)}


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer for Django's handler500: an outage gets a page of its own, which needs no database."""
    refused = refusal(sys.exception())
    if refused is None:
        return defaults.server_error(request)
    if request.path.startswith("/api/"):
        return problem_response(refused)
    page = render_to_string("outage.html", {"refused": refused})
    return HttpResponse(page, status=refused.status, headers=headers(refused))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Answer for allauth's handler429; its limits for pages count by the minute."""
    page = render(request, "429.html", status=429)
    page["Retry-After"] = "60"
    return page


def refuse(request: HttpRequest, refused: Refused, template: str, **context: Any) -> HttpResponse:
    """Answer with a refusal: under /api/ as problem details, elsewhere as a page."""
    if request.path.startswith("/api/"):
        return problem_response(refused)
    return render(request, template, {"refused": refused, **context}, status=refused.status)


def problem_response(refused: Refused) -> JsonResponse:
    """Return a refusal as RFC 9457 problem details."""
    return JsonResponse(
        refused.problem(),
        status=refused.status,
        content_type=PROBLEM_TYPE,
        headers=headers(refused),
    )
