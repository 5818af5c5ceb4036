"""The leaderboards, released and final, their CSV files, and the public ledger behind them."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import (
    check_sees_others,
    published_holdout_or_404,
)
from leaderboard.errors import Refused
from leaderboard.platform.downloads import csv_response, json_response, jsonl_response
from leaderboard.platform.ranges import stored_response
from leaderboard.queries.board_csv import board_csv, final_csv
from leaderboard.queries.board_json import board_json
from leaderboard.queries.paging import PAGE_ROWS, page_of
from leaderboard.queries.people import disqualified
from leaderboard.web import board, final_board
from leaderboard.web.drawing import Drawing, shared
from leaderboard.web.page import Page, load, of_round, page_number
from leaderboard.web.posting import shows_refusals
from leaderboard.web.views.feeds import address_of

SEARCH_LENGTH = 60


SWITCHES = ("intervals", "axis")


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
    """Show the forest plot of the teams, fifty to a page; `?axis=all` shows all scores on it.

    A page that is open asks again with the version that it shows, and gets a 204 as long as that is
    what there is.
    """
    if not page.is_ready:
        return render(request, "pages/not_ready.html", {"page": page})
    user, now = request.user, queries.board_facts(page.board)
    # Before anything is read of the board, so that no newer version is said than is shown.
    version = queries.board_version(page.board, user, now)
    if request.headers.get("Board-Version") == version:
        return HttpResponse(status=204)
    asked = _asked(request, page)
    number, whole = page_number(request), "axis" in asked

    def read(ranking: queries.TeamRanking) -> queries.BoardPage:
        return page_of(ranking, number, "", PAGE_ROWS)

    def draw(rows: queries.BoardPage) -> board.Board:
        return board.draw(page.board, rows.span, rows.rows, whole=whole)

    if (drawing := _shared(request, page, "released", now)) is not None:
        rows, drawn = drawing.page(
            page.team,
            lambda: queries.TeamRanking(page.board),
            read,
            draw,
        )
    else:
        drawing, search = Drawing(now), _search(request)
        rows = queries.board(page.board, user, page=number, search=search)
        drawn = draw(rows)
    around = _shared(request, page, "around", now, lambda: 0) or drawing
    oldest = min(drawing.facts, around.facts, key=lambda facts: facts[:2])
    version = queries.board_version(page.board, user, oldest)
    account = page.team if page.round.ledger and page.round.ledger.by_team else None

    def once(name: str, find: Callable[[], object]) -> Callable[[], object]:
        return partial(around.part, (name, account), find)

    context = {
        "page": page,
        "rows": rows,
        "version": version,
        "board": drawn,
        "drawing": drawing,
        "around": around,
        "account": account,
        "revision": once("revision", lambda: queries.revision(page.round, user)),
        "contenders": once("contenders", lambda: queries.contenders(page.board, user)),
        "chart": once("chart", lambda: board.history(page.board, user)),
        "digits": queries.scale(page.board).decimals,
        "facts": once("facts", lambda: queries.mechanism_facts(page.board, user)),
        "guarantee": once("guarantee", lambda: queries.guarantee(page.board, page.team)),
        "wear": queries.wear(page.board) if page.organizes else None,
        "disqualified": once("disqualified", lambda: disqualified(page.round, user)),
        "feed": address_of("leaderboard-feed", request, page.competition),
        **_addresses(request, asked),
    }
    return render(request, "pages/leaderboard.html", context)


def _shared(
    request: HttpRequest,
    page: Page,
    kind: str,
    now: queries.BoardFacts,
    newest: Callable[[], int] | None = None,
) -> Drawing | None:
    """Return the drawing that everybody shares who may know of every team and searches for none.

    newest: the number of the ledger entry that has to be on it: the newest one of the own team.
    """
    if _search(request) or not page.sees_others:
        return None
    switches = tuple(request.GET.get(name) == "all" for name in SWITCHES)
    return shared(
        (page.board.uid, kind, page_number(request), switches),
        now,
        newest or partial(queries.newest_entry, page.board, page.team),
    )


def _final(request: HttpRequest, page: Page) -> HttpResponse:
    """Show the teams by their exact scores, fifty to a page.

    `?intervals=all` draws the intervals that hold for all scores at once.
    """
    user, now = request.user, queries.board_facts(page.board)
    # Before anything is read of the board, so that no newer version is said than is shown.
    version = queries.board_version(page.board, user, now)
    if request.headers.get("Board-Version") == version:
        return HttpResponse(status=204)
    asked, number = _asked(request, page), page_number(request)
    together, whole = "intervals" in asked, "axis" in asked
    draw = partial(final_board.draw, page.board, together=together, whole=whole)
    if (drawing := _shared(request, page, "final", now)) is not None:
        version = queries.board_version(page.board, user, drawing.facts)
        rows, drawn = drawing.page(
            page.team,
            lambda: queries.FinalRanking(page.board),
            lambda ranking: queries.final_page(ranking, number),
            draw,
        )
    else:
        drawing = Drawing(now)
        rows = queries.final_board(page.round, user, page=number, search=_search(request))
        drawn = draw(rows)
    context = {
        "page": page,
        "rows": rows,
        "version": version,
        "board": drawn,
        "drawing": drawing,
        "together": together,
        "chart": final_board.moves(page.round, request.user, rows),
        "disqualified": disqualified(page.round, request.user),
        "feed": address_of("leaderboard-feed", request, page.competition),
        **_addresses(request, asked),
    }
    return render(request, "pages/final.html", context)


def _asked(request: HttpRequest, page: Page) -> dict[str, object]:
    """Return what an address asks for beside page and search."""
    switched = {name: "all" for name in SWITCHES if request.GET.get(name) == "all"}
    return {**page.asked_fields, **switched}


def _addresses(request: HttpRequest, asked: dict[str, object]) -> dict[str, object]:
    """Return what links keep of an address, and where each switch leads."""
    switches = dict[str, str]()
    for name in SWITCHES:
        other = {key: value for key, value in asked.items() if key != name}
        other |= {} if name in asked else {name: "all"}
        other |= {key: request.GET[key] for key in ("page", "team") if key in request.GET}
        switches[name] = f"?{urlencode(other)}"
    return {
        "asked": asked,
        "kept": f"&{urlencode(asked)}" if asked else "",
        "switches": switches,
    }


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
def leaderboard_json(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Send the whole board as a JSON document, with the heads that it follows from."""
    page = of_round(request, load(request, slug, "leaderboard"))
    if not page.is_ready:
        raise Http404("A draft has no board.")
    parts = board_json(page.board, request.user, page.team)
    return json_response(parts, f"{slug}-leaderboard.json")


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
        "kept": f"&{page.asked}" if page.asked else "",
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
def publication(request: HttpRequest, slug: str, version: int) -> HttpResponseBase:
    """Send solution, secret and measurements, once they have been published."""
    round = of_round(request, load(request, slug, "ledger")).round
    found = queries.publication(published_holdout_or_404(round, version))
    return stored_response(
        dict(request.headers),
        found.name,
        name=f"{slug}-publication-{version}.zip",
        size=found.size,
        sha256=found.sha256,
    )
