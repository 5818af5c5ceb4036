"""The step "Opening": the checklist, the button, and the way back while nobody has submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from leaderboard import organize
from leaderboard.admin import budget
from leaderboard.admin.steps import is_draft, say, sent_from, show, url_of, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition, Submission

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

# Where what a line of the checklist speaks of can be mended.
_MENDED_ON = {
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
    """The checklist, and what happens next."""
    checks = organize.checklist(competition) if is_draft(competition) else []
    context = {
        "checks": [(check, url_of(competition, _MENDED_ON[check.name])) for check in checks],
        "missing": sum(not check.passed for check in checks),
        "plan": budget.plan(competition),
        "grid": budget.grid(competition),
        "fixed": why_fixed(competition),
        "has_submissions": Submission.objects.filter(team__competition=competition).exists(),
    }
    return show(request, owner, competition, "opening", context)


@sent_from("opening")
def open_now(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin
) -> HttpResponse:
    """Opens the competition if the checklist is green."""
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
    """Takes the opening back if nobody has submitted."""
    try:
        organize.return_to_draft(competition)
    except Refused as refused:
        warn(request, str(refused))
    else:
        owner.log_change(request, competition, "Taken back to draft.")
        say(request, "The competition is a draft again: only its organizers see it.")
    return redirect(url_of(competition, "opening"))
