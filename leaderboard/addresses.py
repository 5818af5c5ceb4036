"""Refuses addresses that no name in the database can match."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse

from leaderboard.errors import Refused


class NulMiddleware:
    """Answers 400 where path or query hold a NUL: PostgreSQL fails when it is asked for one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" not in request.path and "%00" not in request.META.get("QUERY_STRING", ""):
            return self.get_response(request)
        if not request.path.startswith("/api/"):
            raise BadRequest("NUL in the address")
        refused = Refused(
            "malformed", "The request can't be read", "The address holds a NUL character.", 400
        )
        return JsonResponse(refused.problem(), status=400, content_type="application/problem+json")
