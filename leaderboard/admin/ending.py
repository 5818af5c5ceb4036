"""The step "The end": what stands, the start of the final scoring, its progress, the reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn
from leaderboard.errors import Refused
from leaderboard.models import Competition
from leaderboard.pipeline import finalize
from leaderboard.queries.board_csv import final_csv

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_PREVIEWED = 20


@require_safe
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """How far the end has come, what is missing, and the final board for the organizer's eyes."""
    context = {
        "progress": None if is_draft(competition) else queries.progress(competition),
        "holdout": queries.holdout_in_force(competition),
        "board": _preview(request, competition),
    }
    return show(request, owner, competition, "end", context)


@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Asks once more, then closes the competition before its time."""
    if request.method != "POST":
        return show(request, owner, competition, "end_close", {})
    try:
        finalize.close_early(competition)
    except Refused as refused:
        warn(request, str(refused))
    else:
        announced = f"{competition.announced_closes_at:%Y-%m-%d %H:%M} UTC"
        owner.log_change(request, competition, f"Closed early; announced for {announced}.")
        say(request, "The competition is closed. What was accepted before is scored.")
    return redirect(url_of(competition, "end"))


@sent_from("end")
def start(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Ends submitting and choosing, if everything has its answer."""
    before = competition.finals_started_at
    try:
        finalize.start_finals(competition, accept_failed="accept_failed" in request.POST)
    except Refused as refused:
        warn(request, str(refused))
    else:
        if before is None:
            owner.log_change(request, competition, "Finals started.")
        say(request, "The final scoring has begun. Nobody can submit or choose any more.")
    return redirect(url_of(competition, "end"))


@require_http_methods(["GET", "HEAD", "POST"])
def reveal(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Asks once more, then shows the final board to everybody."""
    if competition.finals_scored_at is None:
        warn(request, "Some final scores are missing. They can be revealed once all are there.")
        return redirect(url_of(competition, "end"))
    if request.method != "POST":
        return show(request, owner, competition, "end_reveal", {})
    before = competition.revealed_at
    finalize.reveal(competition)
    if before is None:
        owner.log_change(request, competition, "Finals revealed.")
    say(request, "The final scores are revealed.")
    return redirect(url_of(competition, "end"))


@require_safe
def csv(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """The whole final board, also before the reveal."""
    if competition.finals_scored_at is None:
        raise Http404("There is no final board yet.")
    rows = queries.whole_final_board(competition, request.user)
    response = HttpResponse(final_csv(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{competition.slug}-final.csv"'
    return response


def _preview(request: HttpRequest, competition: Competition) -> queries.FinalBoard | None:
    if competition.finals_scored_at is None:
        return None
    return queries.final_board(competition, request.user, page_rows=_PREVIEWED)
