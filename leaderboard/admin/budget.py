"""The ledger as its organizer sees it: what was asked, what is left, how wide guarantees are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from leaderboard.admin.steps import show
from leaderboard.models import Competition
from leaderboard.queries.budgets import budget
from leaderboard.queries.previews import plan

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


@require_safe
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show what was asked and answered, what is left, and each team's share."""
    board = competition.current_round.board
    context = {"ledger": budget(board), "plan": plan(board)}
    return show(request, owner, competition, "budget", context)
