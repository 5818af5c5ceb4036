"""Any error as an RFC 9457 problem document, by one exception handler.

Every document has type, title, status, detail and a stable code of `leaderboard.refusals`. `errors`
lists what is wrong with single fields, `total` is how many there are.
"""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from knox.settings import knox_settings
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.views import set_rollback

from leaderboard.errors import Refused
from leaderboard.platform import outages

logger = logging.getLogger(__name__)

_CODES: dict[type[Exception], str] = {
    exceptions.AuthenticationFailed: "not_authenticated",
    exceptions.NotFound: "not_found",
    exceptions.ParseError: "malformed",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    Http404: "not_found",
}


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Answer any exception with a problem document (a hook of DRF).

    Unexpected ones are logged, not shown.
    """
    set_rollback()
    refused = error if isinstance(error, Refused) else outages.refusal(error)
    if refused is None:
        refused = _refusal(error, context["request"])
    if refused is not error and refused.status >= 500:
        logger.error("An API request failed: %s", refused.title, exc_info=error)
    response = outages.problem_response(refused)
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    return response


def _refusal(error: Exception, request: Request) -> Refused:
    """Return the refusal that an exception of DRF or Django stands for."""
    if isinstance(error, exceptions.ValidationError):
        return Refused("invalid", errors=list(_field_errors(error.detail)))
    if isinstance(error, exceptions.Throttled):
        return Refused("throttled", seconds=max(1, int(getattr(error, "wait", None) or 1)))
    if isinstance(error, exceptions.NotAuthenticated):
        # Somebody who sent something may think that they are signed in.
        sent = "Authorization" in request.headers
        return Refused("not_authenticated", prefix=knox_settings.TOKEN_PREFIX if sent else None)
    if isinstance(error, (exceptions.PermissionDenied, PermissionDenied)):
        detail = str(getattr(error, "detail", ""))
        if detail.startswith("CSRF"):
            return Refused("csrf_failed", message=f"{detail.rstrip('.')}.")
        return Refused("not_allowed", message=detail or None)
    code = _CODES.get(type(error), "internal_error")
    shown = "" if code == "internal_error" else str(error)
    return Refused(code, message=shown or None)


def _field_errors(detail: Any, field: str = "") -> Iterator[dict[str, str]]:
    """Yield the facts of each wrong field, with a sentence that names it."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _field_errors(inner, field if name == "non_field_errors" else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _field_errors(inner, field)
    else:
        named = field and f"`{field}`" not in detail
        message = f"`{field}`: {detail}" if named else str(detail)
        yield {"variant": str(detail.code), "field": field, "message": message}
