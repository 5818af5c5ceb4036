"""The leaderboard, its CSV, and the public ledger behind it."""

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.board_csv import board_csv
from leaderboard.downloads import jsonl_response
from leaderboard.web import board
from leaderboard.web.page import load, page_number

SEARCH_LENGTH = 60


@require_safe
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """The forest plot of the teams, fifty to a page."""
    page = load(request, slug, "leaderboard")
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    search = request.GET.get("team", "").strip()[:SEARCH_LENGTH]
    rows = queries.board(page.competition, request.user, page=page_number(request), search=search)
    context = {
        "page": page,
        "rows": rows,
        "board": board.draw(page.competition, rows.rows),
        "chart": board.history(page.competition),
        "digits": queries.scale(page.competition).decimals,
        "facts": queries.mechanism_facts(page.competition),
    }
    return render(request, "pages/leaderboard.html", context)


@require_safe
def leaderboard_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole board as CSV."""
    page = load(request, slug, "leaderboard")
    if not page.is_ready:
        raise Http404("A draft has no board.")
    competition = page.competition
    rows = queries.whole_board(competition, request.user)
    response = HttpResponse(board_csv(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{competition.slug}-leaderboard.csv"'
    return response


@require_safe
def ledger(request: HttpRequest, slug: str) -> HttpResponse:
    """Every answer that the holdout gave, as a hash chain."""
    page = load(request, slug, "ledger")
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    context = {
        "page": page,
        "ledger": queries.ledger(page.competition, page=page_number(request)),
        "facts": queries.mechanism_facts(page.competition),
    }
    return render(request, "pages/ledger.html", context)


@require_safe
def ledger_lines(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The whole ledger as JSON Lines, to keep and to verify."""
    page = load(request, slug, "ledger")
    if not page.is_ready:
        raise Http404("A draft has no ledger.")
    return jsonl_response(
        queries.ledger_lines(page.competition), f"{page.competition.slug}-ledger.jsonl"
    )
