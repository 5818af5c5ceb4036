"""The leaderboards, released and final, their CSV files, and the public ledger behind them."""

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import (
    check_sees_others,
    published_holdout_or_404,
)
from leaderboard.errors import Refused
from leaderboard.platform.downloads import csv_response, jsonl_response
from leaderboard.queries.board_csv import board_csv, final_csv
from leaderboard.queries.people import disqualified
from leaderboard.web import board, final_board
from leaderboard.web.page import Page, load, of_round, page_number
from leaderboard.web.posting import shows_refusals

SEARCH_LENGTH = 60


@require_safe
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the final board once it is revealed; until then, the board of released scores."""
    page = of_round(request, load(request, slug, "leaderboard"))
    if page.round.revealed_at is not None and page.column is None:
        return _final(request, page)
    return _released(request, page)


@require_safe
def released_leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the board of released scores, also after the reveal."""
    return _released(request, of_round(request, load(request, slug, "leaderboard")))


def _released(request: HttpRequest, page: Page) -> HttpResponse:
    """Show the forest plot of the teams, fifty to a page."""
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    search = _search(request)
    rows = queries.board(page.board, request.user, page=page_number(request), search=search)
    context = {
        "page": page,
        "revision": queries.revision(page.round, request.user),
        "rows": rows,
        "board": board.draw(page.board, request.user, rows.rows),
        "chart": board.history(page.board, request.user),
        "digits": queries.scale(page.board).decimals,
        "facts": queries.mechanism_facts(page.board, request.user),
        "guarantee": queries.guarantee(page.board, page.team),
        "wear": queries.wear(page.board) if page.organizes else None,
        "kept": _behind(page),
        "disqualified": disqualified(page.round, request.user),
    }
    return render(request, "pages/leaderboard.html", context)


def _final(request: HttpRequest, page: Page) -> HttpResponse:
    """Show the teams by their exact scores, fifty to a page.

    `?intervals=all` draws the intervals that hold for all scores at once.
    """
    together = request.GET.get("intervals") == "all"
    rows = queries.final_board(
        page.round, request.user, page=page_number(request), search=_search(request)
    )
    context = {
        "page": page,
        "rows": rows,
        "board": final_board.draw(page.board, rows, together=together),
        "together": together,
        "kept": f"&intervals=all{_behind(page)}" if together else _behind(page),
        "chart": final_board.moves(rows),
        "disqualified": disqualified(page.round, request.user),
    }
    return render(request, "pages/final.html", context)


def _behind(page: Page) -> str:
    """Return what was asked for, behind other parts of an address."""
    return f"&{page.asked}" if page.asked else ""


def _search(request: HttpRequest) -> str:
    return request.GET.get("team", "").strip()[:SEARCH_LENGTH]


@require_safe
def leaderboard_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Send the whole board as CSV."""
    page = of_round(request, load(request, slug, "leaderboard"))
    if not page.is_ready:
        raise Http404("A draft has no board.")
    rows = queries.whole_board(page.board, request.user)
    return csv_response(board_csv(rows), f"{slug}-leaderboard.csv")


@require_safe
@shows_refusals
def final_csv_file(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the whole final board as CSV, once it is revealed."""
    round = of_round(request, load(request, slug, "leaderboard")).round
    if round.revealed_at is None:
        raise Refused("finals_not_revealed")
    rows = queries.whole_final_board(round, request.user)
    return csv_response(final_csv(rows), f"{slug}-final.csv")


@require_safe
def ledger(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every answer that the holdout gave, as a hash chain."""
    page = of_round(request, load(request, slug, "ledger"))
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    context = {
        "page": page,
        "ledger": queries.ledger(page.round, request.user, page=page_number(request)),
        "facts": queries.mechanism_facts(page.board, request.user),
        "publications": queries.publications(page.round),
        "kept": _behind(page),
    }
    return render(request, "pages/ledger.html", context)


@require_safe
@shows_refusals
def ledger_lines(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the whole ledger as JSON Lines, to keep and to verify."""
    page = of_round(request, load(request, slug, "ledger"))
    if not page.is_ready or page.round.ledger is None:
        raise Http404("A draft has no ledger.")
    check_sees_others(request.user, page.competition)
    return jsonl_response(queries.ledger_lines(page.round.ledger), f"{slug}-ledger.jsonl")


@require_safe
def publication(request: HttpRequest, slug: str, version: int) -> FileResponse:
    """Send solution, secret and measurements, once they have been published."""
    round = of_round(request, load(request, slug, "ledger")).round
    found = queries.publication(published_holdout_or_404(round, version))
    return FileResponse(
        default_storage.open(found.name, "rb"),
        as_attachment=True,
        filename=f"{slug}-publication-{version}.zip",
    )
