"""Errors as RFC 9457 problem documents: one exception handler, one list of all codes.

Every document has type, title, status, detail and a stable code. `errors` lists single problems
(of a prediction file, or of fields), `total` how many there are where only the first are listed.
"""

import logging
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.views import set_rollback

from leaderboard.errors import Refused
from leaderboard.platform import outages

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Known:
    """A problem that the API may answer with: its status, title, and what it means."""

    status: int
    title: str
    meaning: str


CATALOGUE: dict[str, Known] = {
    "invalid": Known(
        400,
        "Something needs to be fixed",
        "A field or parameter is missing, unknown or wrong; `errors` names each one.",
    ),
    "malformed": Known(400, "The request can't be read", "The body is not what its type says."),
    "wrong_credentials": Known(
        401, "User name and password don't match", "Check both, or reset the password."
    ),
    "email_not_verified": Known(
        403, "The e-mail address is not confirmed", "Follow the link in the mail you were sent."
    ),
    "not_authenticated": Known(
        401, "You are not signed in", "Send a token that has not expired, or sign in."
    ),
    "not_allowed": Known(403, "This is not yours to do", "Your account may not do this."),
    "csrf_failed": Known(
        403, "The CSRF token is missing", "With a session, send the X-CSRFToken header."
    ),
    "rules_not_accepted": Known(
        403, "The rules are not accepted", "Join the competition by accepting its rules."
    ),
    "not_a_member": Known(403, "You have not joined this competition", "Join it first."),
    "captain_only": Known(403, "Only the captain can do this", "Ask your team's captain."),
    "competition_not_open": Known(
        403, "The competition is not open yet", "It takes no submissions yet; nothing was counted."
    ),
    "deadline_passed": Known(403, "The deadline has passed", "The file was not accepted."),
    "not_found": Known(
        404,
        "There is nothing here",
        "The address is wrong, or what is there is not open to you: the answer is the same.",
    ),
    "method_not_allowed": Known(
        405, "The method is not allowed here", "The Allow header lists those that are."
    ),
    "not_acceptable": Known(
        406,
        "No such format",
        "Ask for application/json, or for text/csv or application/jsonl where there is one.",
    ),
    "finals_not_revealed": Known(
        404, "There are no final scores yet", "The organizer has not revealed them."
    ),
    "finals_started": Known(
        409, "The finals have started", "What is entered, and what was submitted, stays as it is."
    ),
    "already_joined": Known(409, "You have joined already", "One person is in one team."),
    "team_name_taken": Known(409, "The team name is taken", "Choose another name."),
    "team_full": Known(409, "The team is full", "Teams have a largest size."),
    "no_token": Known(409, "There is no token to revoke", "You are signed in by a session."),
    "invitation_expired": Known(410, "The invitation has expired", "Ask for a new one."),
    "left_a_team": Known(
        409,
        "You have left a team that submitted",
        "What it used stays used: no other team is open to you in this round.",
    ),
    "team_merged": Known(410, "The team was merged", "Ask the team that it is part of now."),
    "file_too_large": Known(413, "The file is too large", "Nothing was counted."),
    "body_too_large": Known(413, "The body is too large", "JSON bodies have 64 KiB at most."),
    "unsupported_media_type": Known(
        415, "The media type is not supported", "Send what the operation takes."
    ),
    "range_not_satisfiable": Known(416, "No such part of the file", "Ask for bytes it has."),
    "file_empty": Known(422, "The file is empty", "Nothing was counted."),
    "too_many_finals": Known(
        422, "Too many final entries", "Enter as many as the competition allows, or fewer."
    ),
    "not_released": Known(
        422,
        "Only released submissions can be entered",
        "Your team has no submission of that number with a released answer.",
    ),
    "daily_limit_reached": Known(
        429, "Today's submissions are used up", "New ones are free when the day (UTC) begins."
    ),
    "total_limit_reached": Known(429, "All submissions are used up", "No more are accepted."),
    "too_many_rejected": Known(
        429, "Too many rejected files today", "Fix the file before you send it again."
    ),
    "throttled": Known(
        429, "Too many requests", "Wait as many seconds as the Retry-After header says."
    ),
    "internal_error": Known(
        500, "Something failed on our side", "Nothing of it is your fault; try again later."
    ),
    "paused": Known(
        503,
        "The competition is paused",
        "Its ledger is being restored, or its solution revised; nothing was counted.",
    ),
    "unavailable": Known(
        503,
        "The site can't work at the moment",
        "Database or files are away; come back after the seconds of the Retry-After header.",
    ),
    "storage_full": Known(
        507, "The server has no space left", "Nothing was changed or counted; try again later."
    ),
}


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Answer any exception with a problem document (a hook of DRF).

    Unexpected ones are logged, not shown.
    """
    set_rollback()
    if isinstance(error, Refused):
        return _respond(error.problem(), outages.headers(error))
    outage = outages.refusal(error)
    if outage is not None:
        logger.error("An API request failed: %s", outage.title, exc_info=error)
        return _respond(outage.problem(), outages.headers(outage))
    if isinstance(error, exceptions.ValidationError):
        return _respond(_invalid(error))
    if isinstance(error, exceptions.Throttled):
        return _respond(_throttled(error), {"Retry-After": str(_wait(error))})
    if isinstance(error, exceptions.APIException):
        return _respond(_of_framework(error, context["request"]), _headers(error))
    if isinstance(error, Http404):
        return _respond(problem("not_found", str(error) or "There is no such page."))
    if isinstance(error, PermissionDenied):
        return _respond(problem("not_allowed", "Your account may not do this."))
    logger.error("An API request failed.", exc_info=error)
    return _respond(
        problem("internal_error", "Something failed on our side. Please try again later.")
    )


def problem(code: str, detail: str, **more: Any) -> dict[str, Any]:
    """Return the problem document of a known code."""
    known = CATALOGUE[code]
    return Refused(code, known.title, detail, known.status).problem() | more


def _respond(document: dict[str, Any], headers: dict[str, str] | None = None) -> JsonResponse:
    return JsonResponse(
        document, status=document["status"], content_type=MEDIA_TYPE, headers=headers
    )


def _invalid(error: exceptions.ValidationError) -> dict[str, Any]:
    """Field errors, each a sentence that names its field."""
    errors = list(_field_errors(error.detail))
    many = f"{len(errors)} things are wrong with what was sent."
    return problem(
        "invalid",
        errors[0]["message"] if len(errors) == 1 else many,
        errors=errors,
        total=len(errors),
    )


def _field_errors(detail: Any, field: str = "") -> Any:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            yield from _field_errors(inner, field if whole else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _field_errors(inner, field)
    else:
        named = field and f"`{field}`" not in detail
        yield {
            "code": str(detail.code),
            "field": field,
            "message": f"`{field}`: {detail}" if named else str(detail),
        }


def _throttled(error: exceptions.Throttled) -> dict[str, Any]:
    seconds = _wait(error)
    unit = "second" if seconds == 1 else "seconds"
    return problem("throttled", f"Too many requests. Try again in {seconds} {unit}.")


def _wait(error: exceptions.Throttled) -> int:
    return max(1, int(getattr(error, "wait", None) or 1))


_CODES: dict[type[exceptions.APIException], str] = {
    exceptions.AuthenticationFailed: "not_authenticated",
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.PermissionDenied: "not_allowed",
    exceptions.NotFound: "not_found",
    exceptions.ParseError: "malformed",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
}


def _of_framework(error: exceptions.APIException, request: Request) -> dict[str, Any]:
    code = _CODES.get(type(error), "internal_error")
    detail = str(error.detail)
    if code == "not_allowed" and detail.startswith("CSRF"):
        return problem("csrf_failed", f"{detail.rstrip('.')}.")
    if isinstance(error, exceptions.NotAuthenticated):
        detail = _nobody(request)
    return problem(code, detail)


def _nobody(request: Request) -> str:
    """Nobody is signed in, though perhaps they think they are."""
    needed = "Sign in first: this needs an account."
    if "Authorization" not in request.headers:
        return needed
    return (
        f"{needed} The Authorization header is not understood: it should be the word Token, a "
        "space, and a token of this site, which begins with holdfast_."
    )


def _headers(error: exceptions.APIException) -> dict[str, str]:
    header = getattr(error, "auth_header", None)
    return {"WWW-Authenticate": header} if header else {}
