"""Answer requests whose address or method leads nowhere, never with an empty page."""

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.urls import is_valid_path
from django.utils.deprecation import MiddlewareMixin

from leaderboard.errors import Refused
from leaderboard.platform.outages import problem_response, refuse


class NulMiddleware(MiddlewareMixin):
    """Answer 400 where path or query hold a NUL, on which PostgreSQL would fail."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if "\0" not in request.path and "%00" not in request.META.get("QUERY_STRING", ""):
            return None
        if not request.path.startswith("/api/"):
            raise BadRequest("NUL in the address")
        return problem_response(Refused("malformed", variant="nul"))


class MethodMiddleware(MiddlewareMixin):
    """Name the allowed methods where a response refuses one (405) with an empty body."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.status_code != 405 or response.content:
            return response
        allowed = response["Allow"]
        refused = Refused("method_not_allowed", allowed=allowed)
        takes_forms, page = "POST" in allowed, request.path
        if takes_forms:
            page = _above(page)
        answer = refuse(request, refused, "405.html", takes_forms=takes_forms, page=page)
        answer["Allow"] = allowed
        return answer


def _above(path: str) -> str:
    """Return the nearest address above this one that there is."""
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if is_valid_path(path):
            break
    return path
