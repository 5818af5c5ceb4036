"""A competition's announcements."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.web.page import load
from leaderboard.web.views.feeds import address_of


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """Show all announcements of a competition."""
    page = load(request, slug, "competition")
    context = {
        "page": page,
        "announcements": queries.announcements(page.competition),
        "feed": address_of("announcements-feed", request, page.competition),
        "board_feed": address_of("leaderboard-feed", request, page.competition),
    }
    return render(request, "pages/announcements.html", context)
