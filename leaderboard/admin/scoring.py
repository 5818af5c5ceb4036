"""The step "Scoring": the metric, the mechanism, and the parameters of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin import budget
from leaderboard.admin.scoring_form import REGISTRIES, Choosable, ScoringForm, written
from leaderboard.admin.steps import is_draft, next_url, say, show, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Shows or takes metric and mechanism."""
    form = ScoringForm(competition)
    if request.method == "POST" and is_draft(competition):
        form = ScoringForm(competition, request.POST)
        if form.is_valid() and (done := _save(request, competition, owner, form)):
            return done
    context = {
        "form": form,
        "fixed": why_fixed(competition),
        "plan": budget.plan(competition),
        "grid": budget.grid(competition),
        "facts": _facts(competition),
    }
    return show(request, owner, competition, "scoring", context)


def _save(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, form: ScoringForm
) -> HttpResponse | None:
    try:
        withdrew = organize.change_scoring(competition, form.scoring())
    except Refused as refused:
        form.add_error(None, str(refused))
        return None
    owner.log_change(request, competition, "Metric and mechanism saved.")
    say(request, f"Metric and mechanism are saved. {budget.grid(competition)}".strip())
    if withdrew:
        warn(request, "The solution was checked against the old metric: upload it again.")
    return redirect(next_url(competition, "scoring"))


@dataclass(frozen=True)
class Fact:
    """A choice that can't change any more."""

    label: str
    title: str
    description: str
    parameters: tuple[tuple[str, str], ...]


def _facts(competition: Competition) -> list[Fact]:
    facts = list[Fact]()
    for kind, registry in REGISTRIES.items():
        chosen: Choosable | None = registry.get(getattr(competition, kind))
        given = getattr(competition, f"{kind}_parameters")
        if chosen is not None:
            values = tuple(
                (p.title, given.get(p.name, written(p.default))) for p in chosen.parameters
            )
            facts.append(Fact(kind.capitalize(), chosen.title, chosen.description, values))
    return facts
