"""What can be done about a team: extra submissions, sanctions, mergers."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from leaderboard.access import entry_or_404, signed_in, team_or_404
from leaderboard.errors import Refused
from leaderboard.models import Competition, Team
from leaderboard.organize import sanctions, teams
from leaderboard.platform.forms import attempt, problems_of
from leaderboard.queries.people import merge_preview
from leaderboard.web.organize.frame import show
from leaderboard.web.organize.team_forms import MergeForm, QuotaForm, ReasonForm, SanctionForm
from leaderboard.web.organize.teams import show_team

Act = Callable[[dict[str, Any]], object]


def change_quota(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Give a team more submissions."""
    team, user = team_or_404(competition, uid), signed_in(request)
    form = QuotaForm(request.POST)
    return _act(
        request, competition, team, "quota_form", form, "Saved.",
        lambda given: teams.add_quota(team, by=user, **given),
    )  # fmt: skip


def sanction(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Disqualify a team, or hide it."""
    team, user = team_or_404(competition, uid), signed_in(request)
    form = SanctionForm(request.POST)
    return _act(
        request, competition, team, "sanction_form", form, "Boards and finals leave it out now.",
        lambda given: sanctions.sanction_team(team, given["kind"], given["reason"], by=user),
    )  # fmt: skip


def lift(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Let a team count again."""
    team, user = team_or_404(competition, uid), signed_in(request)
    return _act(
        request, competition, team, "", None, "It counts again.",
        lambda given: sanctions.lift_from_team(team, by=user),
    )  # fmt: skip


def sanction_entry(
    request: HttpRequest, competition: Competition, uid: str, number: int
) -> HttpResponse:
    """Ask why, then let boards and finals leave a submission out."""
    team, user = team_or_404(competition, uid), signed_in(request)
    entry = entry_or_404(team, number)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and not attempt(
        form,
        lambda: sanctions.sanction_submission(entry, form.cleaned_data["reason"], by=user),
    ):
        messages.success(request, f"Submission {number} doesn’t count any more.")
        return redirect(_url(competition, team))
    context = {"team": team, "entry": entry, "form": form}
    return show(request, competition, "team_entry", context)


def lift_entry(
    request: HttpRequest, competition: Competition, uid: str, number: int
) -> HttpResponse:
    """Let a submission count again."""
    team, user = team_or_404(competition, uid), signed_in(request)
    entry = entry_or_404(team, number)
    return _act(
        request, competition, team, "", None, f"Submission {number} counts again.",
        lambda given: sanctions.lift_from_submission(entry, by=user),
    )  # fmt: skip


def merge(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Show what merging a team into another one does; then do it."""
    team, user = team_or_404(competition, uid), signed_in(request)
    form = MergeForm(team, request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        return redirect(_url(competition, team))
    into = team_or_404(competition, form.cleaned_data["into"])
    if request.method == "POST":
        try:
            teams.merge_teams(team, into, by=user)
        except Refused as refused:
            messages.warning(request, str(refused))
        else:
            messages.success(request, f"“{team.name}” is a part of “{into.name}” now.")
            return redirect(_url(competition, into))
    context = {"team": team, "preview": merge_preview(team, into)}
    return show(request, competition, "team_merge", context)


def _act(
    request: HttpRequest,
    competition: Competition,
    team: Team,
    name: str,
    form: forms.Form | None,
    told: str,
    act: Act,
) -> HttpResponse:
    """Do what a form or button of the team's page asks for, and lead back there.

    A refusal is shown at the form, or above the page where there is none.
    """
    if request.method != "POST":
        return redirect(_url(competition, team))
    form = form or forms.Form({})
    status = attempt(form, lambda: act(form.cleaned_data))
    if not status:
        messages.success(request, told)
        return redirect(_url(competition, team))
    if not name:
        for problem in problems_of(form):
            messages.warning(request, problem)
        return redirect(_url(competition, team))
    return show_team(request, competition, team, **{name: form})


def _url(competition: Competition, team: Team) -> str:
    return reverse("organize-team", args=[competition.slug, team.uid])
