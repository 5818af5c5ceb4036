"""The step "Scoring": the metric, the mechanism, and the parameters of both."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.admin.scoring_form import ScoringForm
from leaderboard.admin.steps import done, next_url, refusals, show, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition
from leaderboard.organize.scoring import REGISTRIES, written
from leaderboard.queries.previews import describe_grid, plan


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show or take metric and mechanism."""
    board = competition.current_round.board
    form = ScoringForm(board, request.POST or None)
    if form.is_valid():
        with refusals(form):
            try:
                withdrew = organize.change_scoring(board, form.scoring(), by=signed_in(request))
            except Refused as refused:
                raise form.rename(refused) from None
            told = f"Metric and mechanism are saved. {describe_grid(board)}".strip()
            done(request, competition, "Metric and mechanism saved.", told)
            if withdrew:
                old = "The solution was checked against the old metric: upload it again."
                messages.warning(request, old)
            return redirect(next_url(competition, "scoring"))
    context = {
        "form": form,
        "fixed": why_fixed(board.round),
        "plan": plan(board),
        "grid": describe_grid(board),
        "facts": _facts(board),
    }
    return show(request, competition, "scoring", context)


def _facts(board: Board) -> list[dict[str, Any]]:
    """Return the choices as words, for a page on which they can't change any more."""
    facts = []
    for kind, registry in REGISTRIES.items():
        chosen = registry.get(getattr(board, kind))
        given = getattr(board, f"{kind}_parameters")
        if chosen is not None:
            values = [(p.title, given.get(p.name, written(p.default))) for p in chosen.parameters]
            facts.append({"label": kind.capitalize(), "chosen": chosen, "parameters": values})
    return facts
