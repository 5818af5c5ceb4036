"""The tab "Run": the checklist of a draft, and how an open competition is doing."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from leaderboard.access import Right, may, signed_in
from leaderboard.models import Competition, Phase, Status
from leaderboard.organize.plan import foresee_guarantee, good_loss
from leaderboard.queries import running
from leaderboard.queries.budgets import budget
from leaderboard.queries.finals import progress
from leaderboard.queries.organized import organized_submissions
from leaderboard.web.charts.bars import bar_chart, time_line
from leaderboard.web.organize import opening
from leaderboard.web.organize.frame import is_draft, show


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what is missing to open a draft, and then what needs attention."""
    if is_draft(competition):
        return opening.page(request, competition)
    round = competition.current_round
    failed = organized_submissions(competition, status=Status.FAILED)
    teams_out, out = running.exhausted_teams(round)
    is_closed = round.phase(timezone.now()) is Phase.CLOSED
    context: dict[str, Any] = {
        "line": time_line(round.opens_at, round.closes_at, timezone.now()),
        "queue": running.queue(competition),
        "chart": bar_chart(running.hours(competition)),
        "hours": running.HOURS,
        "failed": failed,
        "failures": failed.rows[: running.SHOWN],
        "ledger": budget(round.board, usual=good_loss(round.board)),
        "foreseen": None if is_closed else foresee_guarantee(round.board),
        "teams_out": teams_out,
        "teams_out_more": out - len(teams_out),
        "progress": progress(round),
        "unusual": running.unusual(competition),
        "may_judge": may(signed_in(request), competition, Right.JUDGE),
    }
    return show(request, competition, "run", context | opening.facts(competition))
