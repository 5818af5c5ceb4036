"""What can be done about a team: extra submissions, sanctions, mergers."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from leaderboard.access import Right, entry_or_404, may, signed_in, team_or_404
from leaderboard.errors import Refused
from leaderboard.models import Competition, SanctionKind, Team
from leaderboard.organize import sanctions, teams
from leaderboard.platform.forms import attempt, problems_of
from leaderboard.queries import people as queries
from leaderboard.web.organize.frame import show

Act = Callable[[dict[str, Any]], object]


class QuotaForm(forms.Form):
    """How many files more."""

    daily = forms.IntegerField(label="More a day", min_value=0, max_value=teams.MOST_EXTRA)
    total = forms.IntegerField(label="More in all", min_value=0, max_value=teams.MOST_EXTRA)


class SanctionForm(forms.Form):
    """What is done to a team, and why."""

    kind = forms.ChoiceField(
        label="What others see",
        choices=SanctionKind.choices,
        initial=SanctionKind.DISQUALIFIED,
        widget=forms.RadioSelect,
    )
    reason = forms.CharField(
        label="Reason",
        max_length=sanctions.REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="The team reads it. Where a disqualified team is named, everybody does.",
    )


class ReasonForm(forms.Form):
    """Why a submission doesn't count."""

    reason = forms.CharField(label="Reason", max_length=sanctions.REASON_LENGTH)


class MergeForm(forms.Form):
    """The team that remains."""

    def __init__(self, team: Team, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        others = queries.mergeable(team)
        choices = [("", "Choose a team"), *((each.uid, each.name) for each in others)]
        self.fields["into"] = forms.ChoiceField(label="Into", choices=choices)


def page(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Show what can be done about a team."""
    return _page(request, competition, team_or_404(competition, uid))


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
    context = {"team": team, "preview": queries.merge_preview(team, into)}
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
    return _page(request, competition, team, **{name: form})


def _page(
    request: HttpRequest, competition: Competition, team: Team, **tried: forms.Form
) -> HttpResponse:
    extra = {"daily": team.extra_daily, "total": team.extra_total}
    context = {
        "team": team,
        "may_judge": may(signed_in(request), competition, Right.JUDGE),
        "quota": queries.team_quota(team),
        "sanction": queries.sanction_of(team),
        "entries": queries.team_entries(team),
        "quota_form": QuotaForm(initial=extra),
        "sanction_form": SanctionForm(),
        "merge_form": MergeForm(team),
    }
    return show(request, competition, "team_actions", context | tried)


def _url(competition: Competition, team: Team) -> str:
    return reverse("organize-team-actions", args=[competition.slug, team.uid])
