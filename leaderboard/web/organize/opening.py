"""A draft: checklist and opening, and the way back until somebody submits."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.models import Competition, QuickSetup
from leaderboard.organize.plan import foresee_guarantee
from leaderboard.queries.previews import describe_grid
from leaderboard.web.organize.frame import button, show, url_of, why_fixed

_WAIT_SECONDS = 3
# The page on which what a line of the checklist speaks of can be fixed.
_FIXED_ON = {
    "texts": "settings",
    "times": "settings",
    "schema": "columns",
    "sample": "files",
    "solution": "solution",
    "metric": "scoring",
    "mechanism": "scoring",
    "hidden": "settings",
}


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show the checklist, and what happens next."""
    round = competition.current_round
    checks = organize.checklist(competition)
    setup = QuickSetup.objects.filter(round=round).first()
    context = {
        "checks": [(check, url_of(competition, _FIXED_ON[check.name])) for check in checks],
        "missing": sum(not check.passed for check in checks),
        "foreseen": foresee_guarantee(round.board),
        "grid": describe_grid(round.board),
        "setup": setup,
    }
    response = show(request, competition, "opening", context | facts(competition))
    if setup is not None and setup.wanted and not setup.failure:
        response.headers["Refresh"] = str(_WAIT_SECONDS)  # until a worker has sealed it anew
    return response


def facts(competition: Competition) -> dict[str, Any]:
    """Return what the tab shows of a competition before and after its opening."""
    return {
        "warnings": [
            (each, url_of(competition, each.step)) for each in organize.find_warnings(competition)
        ],
        "fixed": why_fixed(competition.current_round),
        "has_submissions": competition.current_round.submissions.exists(),
    }


open_now = button(
    "run",
    lambda request, competition: organize.open_competition(
        competition, by=signed_in(request), baselines="baselines" in request.POST
    ),
    told="The competition is open.",
)
back_to_draft = button(
    "run",
    lambda request, competition: organize.return_to_draft(competition, by=signed_in(request)),
    told="The competition is a draft again: only its organizers see it.",
)
