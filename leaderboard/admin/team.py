"""Teams: organizers mark and rename them; people, quotas and shares are not theirs to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from leaderboard.admin.scope import CompetitionFilter, OwnedAdmin, signed_in
from leaderboard.errors import Refused
from leaderboard.models import Membership, Team
from leaderboard.organize.teams import change_team, check_name

if TYPE_CHECKING:
    _Form = forms.ModelForm[Team]
    _Inline = admin.TabularInline[Membership, Team]
else:  # these take type parameters in their stubs only
    _Form = forms.ModelForm
    _Inline = admin.TabularInline


class OfCompetition(CompetitionFilter):
    """Narrow by competition."""

    path = "competition"


class TeamForm(_Form):
    """Name and marks, changed by `organize`."""

    class Meta:
        model = Team
        fields = ("name", "is_verified", "is_baseline")
        labels: ClassVar = {"is_verified": "Verified", "is_baseline": "Baseline"}
        help_texts: ClassVar = {
            "name": "Rename a team whose name is abusive or somebody else's.",
            "is_verified": "Shown on the board: you know who they are, or have seen their code.",
            "is_baseline": "Shown on the board: a reference to compare with, not a competitor.",
        }

    def clean_name(self) -> str:
        try:
            return check_name(self.instance, self.cleaned_data["name"])
        except Refused as refused:
            raise forms.ValidationError(str(refused)) from None


class Members(_Inline):
    """Who is in the team. Quotas are the team's, so moving people could give some back."""

    model = Membership
    fields = readonly_fields = ("user", "rules_version", "accepted_at")
    template = "admin/parts/members.html"
    can_delete = False
    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(OwnedAdmin[Team]):
    """Teams: their names and marks."""

    form = TeamForm
    competition_path = "competition"
    inlines = (Members,)
    list_display = ("name", "competition", "people", "entries", "is_verified", "is_baseline")
    list_filter = (OfCompetition, "is_verified", "is_baseline")
    list_select_related = ("competition",)
    search_fields = ("name",)
    readonly_fields = ("competition", "leader", "created_at")
    fields = (
        *("name", "is_verified", "is_baseline"),
        *("competition", "leader", "created_at"),
    )
    actions = ("mark_verified", "unmark_verified", "mark_baseline", "unmark_baseline")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        counted = super().get_queryset(request)
        return counted.annotate(
            people_count=Count("memberships", distinct=True),
            entry_count=Count("submissions", distinct=True),
        )

    @admin.display(description="Captain")
    def leader(self, obj: Team) -> str:
        return obj.captain.get_username()

    @admin.display(description="members", ordering="people_count")
    def people(self, obj: Any) -> int:
        return int(obj.people_count)

    @admin.display(description="submissions", ordering="entry_count")
    def entries(self, obj: Any) -> int:
        return int(obj.entry_count)

    @admin.action(description="Mark as verified")
    def mark_verified(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        self._mark(request, queryset, is_verified=True)

    @admin.action(description="Take the verified mark away")
    def unmark_verified(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        self._mark(request, queryset, is_verified=False)

    @admin.action(description="Mark as baseline")
    def mark_baseline(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        self._mark(request, queryset, is_baseline=True)

    @admin.action(description="Take the baseline mark away")
    def unmark_baseline(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        self._mark(request, queryset, is_baseline=False)

    def save_model(
        self, request: HttpRequest, obj: Team, form: forms.ModelForm[Team], change: bool
    ) -> None:
        wished = {name: form.cleaned_data[name] for name in form.changed_data}
        change_team(Team.objects.get(pk=obj.pk), signed_in(request), **wished)

    def _mark(self, request: HttpRequest, queryset: QuerySet[Team], **marks: Any) -> None:
        chosen = list(queryset.select_related("competition"))
        for team in chosen:
            try:
                change_team(team, signed_in(request), **marks)
            except Refused as refused:
                self.message_user(request, str(refused), messages.WARNING)
                return
            self.log_change(request, team, f"Marks: {marks}.")
        self.message_user(request, f"{len(chosen)} teams changed.", messages.SUCCESS)
