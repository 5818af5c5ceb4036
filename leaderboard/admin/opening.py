"""The step "Opening": the checklist, the button, and the way back while nobody has submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from leaderboard import organize
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition
from leaderboard.queries.previews import describe_grid, plan

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

# The page on which what a line of the checklist speaks of can be fixed.
_FIXED_ON = {
    "texts": "change",
    "times": "change",
    "schema": "schema",
    "sample": "files",
    "solution": "solution",
    "metric": "scoring",
    "mechanism": "scoring",
}


@require_safe
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show the checklist, and what happens next."""
    round = competition.current_round
    checks = organize.checklist(competition) if is_draft(competition) else []
    context = {
        "checks": [(check, url_of(competition, _FIXED_ON[check.name])) for check in checks],
        "missing": sum(not check.passed for check in checks),
        "plan": plan(round.board),
        "grid": describe_grid(round.board),
        "fixed": why_fixed(round),
        "has_submissions": round.submissions.exists(),
    }
    return show(request, owner, competition, "opening", context)


@sent_from("opening")
def open_now(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    """Open the competition if the checklist is green."""
    try:
        organize.open_competition(competition)
    except Refused as refused:
        warn(request, str(refused))
    else:
        owner.log_change(request, competition, "Opened.")
        say(request, "The competition is open.")
    return redirect(url_of(competition, "opening"))


@sent_from("opening")
def back_to_draft(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    """Take the opening back if nobody has submitted."""
    try:
        organize.return_to_draft(competition)
    except Refused as refused:
        warn(request, str(refused))
    else:
        owner.log_change(request, competition, "Taken back to draft.")
        say(request, "The competition is a draft again: only its organizers see it.")
    return redirect(url_of(competition, "opening"))
