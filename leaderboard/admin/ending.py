"""The step "The end": what stands, the start of the final scoring, its progress, the reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn
from leaderboard.errors import Refused
from leaderboard.models import Competition
from leaderboard.pipeline import finalize
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.board_csv import final_csv

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_PREVIEWED = 20


@require_safe
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show how far the end has come, what is missing, and the final board, to organizers only."""
    round = competition.current_round
    board = None
    if round.finals_scored_at is not None:
        board = queries.final_board(round, request.user, page_rows=_PREVIEWED)
    context = {
        "progress": None if is_draft(competition) else queries.progress(round),
        "holdout": round.active_holdout,
        "board": board,
    }
    return show(request, owner, competition, "end", context)


@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Ask once more, then close the round before its time."""
    round = competition.current_round
    if request.method != "POST":
        return show(request, owner, competition, "end_close", {})
    try:
        finalize.close_early(round)
    except Refused as refused:
        warn(request, str(refused))
    else:
        at = round.announced_closes_at
        announced = f"{at:%Y-%m-%d %H:%M} UTC" if at else "no end"
        owner.log_change(request, competition, f"Closed early; announced for {announced}.")
        say(request, "The competition is closed. What was accepted before is scored.")
    return redirect(url_of(competition, "end"))


@sent_from("end")
def start(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """End submitting and choosing, if everything has its answer."""
    round = competition.current_round
    before = round.finals_started_at
    try:
        finalize.start_finals(round, accept_failed="accept_failed" in request.POST)
    except Refused as refused:
        warn(request, str(refused))
    else:
        if before is None:
            owner.log_change(request, competition, "Finals started.")
        say(request, "The final scoring has begun. Nobody can submit or choose any more.")
    return redirect(url_of(competition, "end"))


@require_http_methods(["GET", "HEAD", "POST"])
def reveal(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Ask once more, then show the final board to everybody."""
    round = competition.current_round
    if round.finals_scored_at is None:
        warn(request, "Some final scores are missing. They can be revealed once all are there.")
        return redirect(url_of(competition, "end"))
    if request.method != "POST":
        return show(request, owner, competition, "end_reveal", {})
    before = round.revealed_at
    finalize.reveal(round)
    if before is None:
        owner.log_change(request, competition, "Finals revealed.")
    say(request, "The final scores are revealed.")
    return redirect(url_of(competition, "end"))


@require_safe
def csv(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponseBase:
    """Download the whole final board, also before the reveal."""
    round = competition.current_round
    if round.finals_scored_at is None:
        raise Http404("There is no final board yet.")
    rows = queries.whole_final_board(round, request.user)
    return csv_response(final_csv(rows), f"{competition.slug}-final.csv")
