"""What is answered where address and method can't lead anywhere: never nothing at all."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from leaderboard.errors import Refused

NOT_ALLOWED = 405


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
        return _problem(refused)


class MethodMiddleware:
    """Says what a method that is refused (405) could have been, where the answer says nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != NOT_ALLOWED or response.content:
            return response
        allowed = response["Allow"]
        told = _not_allowed(request, allowed)
        told["Allow"] = allowed
        return told


def _not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        detail = f"This address takes {allowed}. Nothing was changed."
        title = "The method is not allowed here"
        return _problem(Refused("method_not_allowed", title, detail, NOT_ALLOWED))
    takes_forms = "POST" in allowed
    above = request.path.rstrip("/").rpartition("/")[0] + "/"
    context = {"takes_forms": takes_forms, "page": above if takes_forms else request.path}
    return render(request, "405.html", context, status=NOT_ALLOWED)


def _problem(refused: Refused) -> JsonResponse:
    return JsonResponse(
        refused.problem(), status=refused.status, content_type="application/problem+json"
    )
