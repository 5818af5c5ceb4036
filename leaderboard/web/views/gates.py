"""The gates of a competition, for people: what programs may ask, and what answers mean."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.web.page import load


@require_safe
def gates(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the gates of the current round."""
    page = load(request, slug, "gates")
    context = {
        "page": page,
        "gates": queries.gates(page.round) if page.is_ready else [],
        "left": queries.gates_left(page.round) if page.is_ready else None,
    }
    return render(request, "pages/gates.html", context)
