"""Teams: organizers mark and rename them; people, quotas and shares are not theirs to change."""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from leaderboard.access import signed_in
from leaderboard.admin.scope import CompetitionFilter, OwnedAdmin, never
from leaderboard.errors import Refused
from leaderboard.models import Membership, Team
from leaderboard.organize.teams import change_team, check_name


class TeamForm(forms.ModelForm[Team]):
    """Name and marks, changed by `organize`."""

    class Meta:
        model = Team
        fields = ("name", "is_verified", "is_baseline")
        labels: ClassVar = {"is_verified": "Verified", "is_baseline": "Baseline"}
        help_texts: ClassVar = {
            "name": "Rename a team whose name is abusive or belongs to somebody else.",
            "is_verified": "Shown on the board: you know who they are, or have seen their code.",
            "is_baseline": "Shown on the board: a reference to compare with, not a competitor.",
        }

    def clean_name(self) -> str:
        try:
            return check_name(self.instance, self.cleaned_data["name"])
        except Refused as refused:
            raise forms.ValidationError(str(refused)) from None


class Members(admin.TabularInline[Membership, Team]):
    """Who is in the team. Quotas are the team's, so moving people could give some back."""

    model = Membership
    fields = readonly_fields = ("user", "rules_version", "accepted_at")
    template = "admin/parts/members.html"
    can_delete = False
    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    has_add_permission = has_change_permission = has_delete_permission = never


def _marking(name: str, description: str, **marks: Any) -> Callable[..., None]:
    """Make the action of the list that marks the chosen teams."""

    @admin.action(description=description)
    def mark(owner: "TeamAdmin", request: HttpRequest, queryset: QuerySet[Team]) -> None:
        chosen = list(queryset.select_related("competition"))
        for team in chosen:
            try:
                change_team(team, signed_in(request), **marks)
            except Refused as refused:
                owner.message_user(request, str(refused), messages.WARNING)
                return
            owner.log_change(request, team, f"Marks: {marks}.")
        owner.message_user(request, f"{len(chosen)} teams changed.", messages.SUCCESS)

    mark.__name__ = name
    return mark


@admin.register(Team)
class TeamAdmin(OwnedAdmin[Team]):
    """Teams: their names and marks."""

    form = TeamForm
    competition_path = "competition"
    inlines = (Members,)
    list_display = ("name", "competition", "people", "entries", "is_verified", "is_baseline")
    list_filter = (CompetitionFilter, "is_verified", "is_baseline")
    list_select_related = ("competition",)
    search_fields = ("name",)
    readonly_fields = ("competition", "leader", "created_at")
    fields = (*TeamForm.Meta.fields, *readonly_fields)
    actions = (
        _marking("mark_verified", "Mark as verified", is_verified=True),
        _marking("unmark_verified", "Remove the verified mark", is_verified=False),
        _marking("mark_baseline", "Mark as baseline", is_baseline=True),
        _marking("unmark_baseline", "Remove the baseline mark", is_baseline=False),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        counted = super().get_queryset(request)
        return counted.annotate(
            people_count=Count("memberships", filter=Q(memberships__left_at=None), distinct=True),
            entry_count=Count("submissions", distinct=True),
        )

    leader = admin.display(lambda self, obj: obj.captain.get_username(), description="Captain")
    people = admin.display(
        lambda self, obj: obj.people_count, description="members", ordering="people_count"
    )
    entries = admin.display(
        lambda self, obj: obj.entry_count, description="submissions", ordering="entry_count"
    )

    def save_model(
        self, request: HttpRequest, obj: Team, form: forms.ModelForm[Team], change: bool
    ) -> None:
        wished = {name: form.cleaned_data[name] for name in form.changed_data}
        change_team(Team.objects.get(pk=obj.pk), signed_in(request), **wished)
