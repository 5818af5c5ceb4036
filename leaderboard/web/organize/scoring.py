"""The page "Scoring": the metric, the mechanism, and the parameters of both."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition
from leaderboard.organize.plan import foresee_guarantee, plan_boards
from leaderboard.organize.proposals import is_used
from leaderboard.organize.scoring import REGISTRIES, written
from leaderboard.queries.previews import describe_grid
from leaderboard.web.charts.gains import gains_chart
from leaderboard.web.organize.frame import (
    button,
    is_draft,
    next_url,
    refusals,
    show,
    why_fixed,
)
from leaderboard.web.organize.scoring_form import ScoringForm
from scoring import mechanisms


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
            messages.success(request, told)
            if withdrew:
                old = "The solution was checked against the old metric: upload it again."
                messages.warning(request, old)
            return redirect(next_url(competition, "scoring"))
    context = {
        "form": form,
        "fixed": why_fixed(board.round),
        "foreseen": foresee_guarantee(board),
        "grid": describe_grid(board),
        "facts": _facts(board),
        "proposal": _proposal(board),
        "may_plan": is_draft(competition) and board.round.active_holdout is not None,
    }
    # A rehearsal takes a second or two: only for who asks for it.
    if context["may_plan"] and "plan" in request.GET and (plan := plan_boards(board.round)):
        context |= {"plan": plan, "chart": gains_chart(plan.curves)}
    return show(request, competition, "scoring", context)


use_proposal = button(
    "scoring",
    lambda request, competition: organize.use_proposal(
        competition.current_round.board, by=signed_in(request)
    ),
    told="The proposed values are saved.",
)


def _proposal(board: Board) -> list[dict[str, Any]]:
    """Return what the data propose, with what is chosen now, as a page shows it."""
    rows = []
    for each in organize.propose(board) if is_draft(board.round.competition) else ():
        row = {"title": each.title, "value": each.value, "reason": each.reason}
        if each.field == "mechanism":
            row["value"] = mechanisms.get(each.value).title
        rows.append(row | {"is_used": is_used(board, each)})
    return rows


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
