"""The tab "Teams": who takes part, and a team's name and marks."""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard.access import signed_in, team_or_404
from leaderboard.models import Competition, Team
from leaderboard.organize.teams import change_team
from leaderboard.queries.organized import (
    OrganizedSubmission,
    organized_teams,
    submissions_of_team,
)
from leaderboard.queries.people import left_out
from leaderboard.queries.teams import members
from leaderboard.web.organize.frame import refusals, show
from leaderboard.web.organize.team_forms import actions
from leaderboard.web.page import page_number
from leaderboard.words import summary


class TeamForm(forms.Form):
    """A team's name and marks."""

    name = forms.CharField(
        max_length=60,
        help_text="Rename a team whose name is abusive or belongs to somebody else.",
    )
    is_verified = forms.BooleanField(
        label="Verified",
        required=False,
        help_text="Shown on the board: you know who they are, or have seen their code.",
    )
    is_baseline = forms.BooleanField(
        label="Baseline",
        required=False,
        help_text="Shown on the board: a reference to compare with, not a competitor.",
    )

    def __init__(self, team: Team, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]  # of a request
        self.initial = {name: getattr(team, name) for name in self.fields}


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the teams, narrowed by a part of their names."""
    search = request.GET.get("team", "").strip()[:60]
    found = organized_teams(competition, search=search, page=page_number(request))
    return show(request, competition, "teams", {"found": found, "search": search})


def one(request: HttpRequest, competition: Competition, *, uid: str) -> HttpResponse:
    """Show a team with its people and submissions; rename and mark it."""
    team = team_or_404(competition, uid)
    form = TeamForm(team, request.POST or None)
    if form.is_valid():
        with refusals(form):
            wished = {name: form.cleaned_data[name] for name in form.changed_data}
            change_team(team, signed_in(request), **wished)
            messages.success(request, "Saved.")
            return redirect("organize-team", competition.slug, uid)
    return show_team(request, competition, team, form=form)


def show_team(
    request: HttpRequest, competition: Competition, team: Team, **tried: forms.Form
) -> HttpResponse:
    """Show a team's page, with the forms that were tried."""
    found = submissions_of_team(team, page_number(request))
    reasons = left_out(team)
    context = actions(request, team) | {
        "team": team,
        "form": TeamForm(team),
        "members": members(team),
        "found": found,
        "summaries": [(each, _told(each, reasons)) for each in found.rows],
    }
    return show(request, competition, "team", context | tried)


def _told(sent: OrganizedSubmission, reasons: Mapping[int, str]) -> str:
    reason = reasons.get(sent.row.number)
    return f"Left out: {reason}" if reason else summary(sent.row)
