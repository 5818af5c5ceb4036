"""The ledger as its organizer sees it: what was asked, what is left, how wide guarantees are."""

from django.http import HttpRequest, HttpResponse

from leaderboard.admin.steps import show
from leaderboard.models import Competition
from leaderboard.queries.budgets import budget


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what was asked and answered, the guarantee, what is left, and each team's share."""
    board = competition.current_round.board
    return show(request, competition, "budget", {"ledger": budget(board)})
