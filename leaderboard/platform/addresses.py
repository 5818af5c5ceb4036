"""Answer requests whose address or method leads nowhere, never with an empty page."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from leaderboard.errors import Refused
from leaderboard.platform.outages import problem_response

NOT_ALLOWED = 405


class NulMiddleware:
    """Answer 400 where path or query hold a NUL, on which PostgreSQL would fail."""

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
        return problem_response(refused)


class MethodMiddleware:
    """Name the allowed methods where a response refuses one (405) with an empty body."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != NOT_ALLOWED or response.content:
            return response
        allowed = response["Allow"]
        if request.path.startswith("/api/"):
            detail = f"This address takes {allowed}. Nothing was changed."
            title = "The method is not allowed here"
            answer: HttpResponse = problem_response(
                Refused("method_not_allowed", title, detail, NOT_ALLOWED)
            )
        else:
            above = request.path.rstrip("/").rpartition("/")[0] + "/"
            takes_forms = "POST" in allowed
            context = {"takes_forms": takes_forms, "page": above if takes_forms else request.path}
            answer = render(request, "405.html", context, status=NOT_ALLOWED)
        answer["Allow"] = allowed
        return answer
