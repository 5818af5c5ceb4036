"""What passes again and is nobody's fault: a database or storage that is away, a full disk."""

from __future__ import annotations

import errno
import sqlite3
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults

from leaderboard.errors import Refused

RETRY_AFTER_SECONDS = 30
_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_POSTGRESQL = "53100"


class StorageAway(OSError):
    """The object storage can't be reached, or refuses; its cause says how."""


def is_full(error: BaseException) -> bool:
    """Whether the error says that a disk is full: that of the files, or the database's."""
    if isinstance(error, OSError):
        return error.errno in _FULL_DISK
    cause = error.__cause__
    return isinstance(error, OperationalError) and (
        getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(cause, "sqlstate", None) == _FULL_POSTGRESQL
    )


def is_outage(error: BaseException) -> bool:
    """Whether the same may succeed later: what is needed is away or busy, or a disk is full."""
    return isinstance(error, (OperationalError, InterfaceError, StorageAway)) or is_full(error)


def refusal(error: BaseException | None) -> Refused | None:
    """What a person is told of an outage; None for any other error."""
    if error is None or not is_outage(error):
        return None
    return Refused.storage_full() if is_full(error) else Refused.unavailable()


def headers(refused: Refused) -> dict[str, str]:
    """When to come back."""
    return {"Retry-After": str(RETRY_AFTER_SECONDS)} if refused.status == 503 else {}


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: an outage is told as one, with a page that needs no database."""
    refused = refusal(sys.exception())
    if refused is None:
        return defaults.server_error(request)
    more = headers(refused)
    if request.path.startswith("/api/"):
        return JsonResponse(
            refused.problem(),
            status=refused.status,
            content_type="application/problem+json",
            headers=more,
        )
    page = render_to_string("outage.html", {"refused": refused})
    return HttpResponse(page, status=refused.status, headers=more)
