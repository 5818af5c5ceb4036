"""What a team's page shows and asks beside its name: extra submissions, sanctions, mergers."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest

from leaderboard.access import Right, may, signed_in
from leaderboard.models import SanctionKind, Team
from leaderboard.organize import sanctions, teams
from leaderboard.queries import people as queries


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


def actions(request: HttpRequest, team: Team) -> dict[str, Any]:
    """Return what can be done about a team, for the templates of these parts of its page."""
    extra = {"daily": team.extra_daily, "total": team.extra_total}
    return {
        "may_judge": may(signed_in(request), team.competition, Right.JUDGE),
        "quota": queries.team_quota(team),
        "sanction": queries.sanction_of(team),
        "quota_form": QuotaForm(initial=extra),
        "sanction_form": SanctionForm(),
        "merge_form": MergeForm(team),
    }
