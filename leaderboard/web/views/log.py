"""The public log: its page, and the files that witnesses and verifiers read."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import check_sees_others
from leaderboard.web.page import Page, load
from leaderboard.web.posting import shows_refusals


@require_safe
def log(request: HttpRequest, slug: str) -> HttpResponse:
    """Explain the log, and show its newest head and who has seen it."""
    page = load(request, slug, "ledger")
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    found = None
    if page.sees_others:
        try:
            found = queries.log(page.competition)
        except Http404:  # no head was signed yet
            found = None
    context = {"page": page, "log": found, "delay": settings.LOG_DELAY_SECONDS}
    return render(request, "pages/log.html", context)


@require_safe
@shows_refusals
def checkpoint(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the newest head, with the signatures of the log and of witnesses."""
    page = _load(request, slug)
    content = queries.log(page.competition).checkpoint
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "no-cache"
    return response


@require_safe
@shows_refusals
def tile(request: HttpRequest, slug: str, path: str) -> HttpResponse:
    """Send a tile of hashes or entries (https://c2sp.org/tlog-tiles)."""
    page = _load(request, slug)
    content = queries.log_tile(page.competition, path)
    return HttpResponse(content, content_type="application/octet-stream")


def _load(request: HttpRequest, slug: str) -> Page:
    page = load(request, slug, "ledger")
    if not page.is_ready:
        raise Http404("A draft has no log.")
    check_sees_others(request.user, page.competition)
    return page
