"""The tab "Finals": what stands, the start of the final scoring, its progress, the reveal."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from leaderboard import queries
from leaderboard.access import Right, may, signed_in
from leaderboard.models import Competition
from leaderboard.pipeline import finalize
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.board_csv import final_csv
from leaderboard.web.organize.frame import button, is_draft, show

_PREVIEWED = 20


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show how far the end has come, what is missing, and the final board, to organizers only."""
    round = competition.current_round
    board = None
    if _may_look(request, competition):
        board = queries.final_board(round, request.user, page_rows=_PREVIEWED)
    context = {
        "progress": None if is_draft(competition) else queries.progress(round),
        "holdout": round.active_holdout,
        "board": board,
    }
    return show(request, competition, "finals", context)


close = button(
    "finals",
    lambda request, competition: finalize.close_early(
        competition.current_round, by=signed_in(request)
    ),
    told="The competition is closed. Files accepted before will be scored.",
    asks="finals_close",
)
start = button(
    "finals",
    lambda request, competition: finalize.start_finals(
        competition.current_round,
        accept_failed="accept_failed" in request.POST,
        accept_lost="accept_lost" in request.POST,
        by=signed_in(request),
    ),
    told="The final scoring has begun. Submissions and selections are closed.",
)
reveal = button(
    "finals",
    lambda request, competition: finalize.reveal(competition.current_round, by=signed_in(request)),
    told="The final scores are revealed.",
    asks="finals_reveal",
)


def _may_look(request: HttpRequest, competition: Competition) -> bool:
    """Return whether there is a final board to show: before the reveal, to owner and editors."""
    round = competition.current_round
    if round.finals_scored_at is None:
        return False
    return round.revealed_at is not None or may(request.user, competition, Right.EDIT)


def csv(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Download the whole final board, also before the reveal."""
    round = competition.current_round
    if not _may_look(request, competition):
        raise Http404("There is no final board yet.")
    rows = queries.whole_final_board(round, request.user)
    return csv_response(final_csv(rows), f"{competition.slug}-final.csv")
