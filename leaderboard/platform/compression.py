"""Compress pages that show everybody the same (docs/decisions/0016-compression.md)."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

PAGES = {
    "home",
    "how-it-works",
    "competition",
    "data",
    "rules",
    "leaderboard",
    "leaderboard-released",
    "ledger",
}


class PagesGZipMiddleware(GZipMiddleware):
    """Compress the HTML of listed routes, and nothing that holds a secret of somebody's."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        route = request.resolver_match.view_name if request.resolver_match else None
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if request.method == "GET" and route in PAGES and is_page and not response.streaming:
            return super().process_response(request, response)
        return response
