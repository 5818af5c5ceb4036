"""The step "Scoring": the metric, the mechanism, and the parameters of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin.scoring_form import REGISTRIES, Choosable, ScoringForm, written
from leaderboard.admin.steps import is_draft, next_url, say, show, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition
from leaderboard.queries.previews import describe_grid, plan

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_WITHDREW = "The solution was checked against the old metric: upload it again."


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show or take metric and mechanism."""
    board = competition.current_round.board
    form = ScoringForm(board)
    if request.method == "POST" and is_draft(competition):
        form = ScoringForm(board, request.POST)
        if form.is_valid():
            try:
                withdrew = organize.change_scoring(board, form.scoring())
            except Refused as refused:
                form.add_error(None, str(refused))
            else:
                owner.log_change(request, competition, "Metric and mechanism saved.")
                say(request, f"Metric and mechanism are saved. {describe_grid(board)}".strip())
                if withdrew:
                    warn(request, _WITHDREW)
                return redirect(next_url(competition, "scoring"))
    context = {
        "form": form,
        "fixed": why_fixed(board.round),
        "plan": plan(board),
        "grid": describe_grid(board),
        "facts": _facts(board),
    }
    return show(request, owner, competition, "scoring", context)


@dataclass(frozen=True)
class Fact:
    """A choice that can't change any more."""

    label: str
    title: str
    description: str
    parameters: tuple[tuple[str, str], ...]


def _facts(board: Board) -> list[Fact]:
    facts = list[Fact]()
    for kind, registry in REGISTRIES.items():
        chosen: Choosable | None = registry.get(getattr(board, kind))
        given = getattr(board, f"{kind}_parameters")
        if chosen is not None:
            values = tuple(
                (p.title, given.get(p.name, written(p.default))) for p in chosen.parameters
            )
            facts.append(Fact(kind.capitalize(), chosen.title, chosen.description, values))
    return facts
