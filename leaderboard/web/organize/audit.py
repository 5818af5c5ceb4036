"""The tab "Audit": who did what, when, and what was there before."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from leaderboard.models import Competition, EventKind
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.audit import ALL, audit_csv, happenings
from leaderboard.web.organize.frame import show
from leaderboard.web.page import page_number


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List what happened, newest first, narrowed to a kind."""
    kind = _kind(request)
    context = {
        "found": happenings(competition, request.user, kind, page_number(request)),
        "kind": kind,
        "kinds": [(ALL, "Everything"), *EventKind.choices],
        "kept": f"&kind={kind}" if kind else "",
    }
    return show(request, competition, "audit", context)


def csv(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Download what happened."""
    parts = audit_csv(competition, request.user, _kind(request))
    return csv_response(parts, f"{competition.slug}-audit.csv")


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("kind", "")
    return kind if kind in (ALL, *EventKind.values) else ""
