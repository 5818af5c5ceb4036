"""Competitions: the list, the settings, and the pages of the steps that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from leaderboard import organize
from leaderboard.admin import (
    budget,
    correction,
    ending,
    files,
    opening,
    preview,
    schema,
    scoring,
    solution,
    unsealing,
)
from leaderboard.admin.scope import OwnedAdmin, has_role, signed_in
from leaderboard.admin.settings_form import SettingsForm
from leaderboard.admin.steps import frame, next_url, url_of
from leaderboard.models import Competition, Phase, Status, Submission, Team
from leaderboard.templatetags.marks import state
from leaderboard.templatetags.text import ago

View = Callable[..., HttpResponse]

_PAGES: tuple[tuple[str, str, View], ...] = (
    ("schema/", "schema", schema.page),
    ("scoring/", "scoring", scoring.page),
    ("files/", "files", files.page),
    ("files/<int:file_id>/remove/", "files_remove", files.remove),
    ("solution/", "solution", solution.page),
    ("solution/correction/", "solution_correction", correction.page),
    ("solution/withdraw/", "solution_withdraw", solution.withdraw),
    ("opening/", "opening", opening.page),
    ("opening/open/", "open", opening.open_now),
    ("opening/draft/", "draft", opening.back_to_draft),
    ("budget/", "budget", budget.page),
    ("end/", "end", ending.page),
    ("end/close/", "end_close", ending.close),
    ("end/start/", "end_start", ending.start),
    ("end/reveal/", "end_reveal", ending.reveal),
    ("end/final.csv", "end_csv", ending.csv),
    ("unsealing/", "unsealing", unsealing.page),
)


_LIMITS = ("daily_limit", "total_limit", "team_size", "max_file_bytes", "finals_limit")
_FIXED_BY_THE_END = ("opens_at", "closes_at", *_LIMITS)


@admin.register(Competition)
class CompetitionAdmin(OwnedAdmin[Competition]):
    form = SettingsForm
    competition_path = "pk"
    list_display = ("title", "phase", "moment", "team_count", "submission_count", "failed_count")
    list_filter = ("visibility",)
    search_fields = ("title", "slug")
    change_form_template = "admin/competition/settings.html"
    change_list_template = "admin/competition/list.html"

    def competition_of(self, obj: Competition) -> Competition:
        return obj

    def get_queryset(self, request: HttpRequest) -> QuerySet[Competition]:
        submissions = Submission.objects.filter(team__competition=OuterRef("pk"))
        teams = Team.objects.filter(competition=OuterRef("pk"))
        return (
            super()
            .get_queryset(request)
            .annotate(
                teams_there=_count(teams, "competition"),
                submissions_there=_count(submissions, "team__competition"),
                failed_there=_count(submissions.filter(status=Status.FAILED), "team__competition"),
            )
        )

    @admin.display(description="Phase")
    def phase(self, obj: Competition) -> SafeString:
        phase = obj.phase(timezone.now())
        return state(phase.value, phase.label)

    @admin.display(description="Next", ordering="closes_at")
    def moment(self, obj: Competition) -> SafeString:
        phase = obj.phase(timezone.now())
        if phase is Phase.DRAFT:
            return format_html('<a href="{}">Checklist</a>', url_of(obj, "opening"))
        words = {Phase.UPCOMING: "opens", Phase.OPEN: "closes", Phase.CLOSED: "closed"}
        when = obj.opens_at if phase is Phase.UPCOMING else obj.closes_at
        return format_html("{} {}", words[phase], ago(when))

    @admin.display(description="Teams")
    def team_count(self, obj: Any) -> int:
        return int(obj.teams_there)

    @admin.display(description="Submissions")
    def submission_count(self, obj: Any) -> int:
        return int(obj.submissions_there)

    @admin.display(description="Failed")
    def failed_count(self, obj: Any) -> str:
        if not obj.failed_there:
            return "0"
        query = urlencode({"competition": obj.slug, "status__exact": Status.FAILED})
        address = f"{reverse('admin:leaderboard_submission_changelist')}?{query}"
        return format_html('<a href="{}">{}</a>', address, obj.failed_there)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = "All competitions" if signed_in(request).is_superuser else "Your competitions"
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return has_role(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Until somebody submits; after that the ledger is kept."""
        if not isinstance(obj, Competition) or not self.is_mine(request, obj):
            return False
        submitted = Submission.objects.filter(team__competition=obj).exists()
        return not submitted and not organize.is_frozen(obj)

    def get_fieldsets(self, request: HttpRequest, obj: Competition | None = None) -> Any:
        rules = ("rules", "ask_again") if obj else ("rules",)
        return (
            ("Name", {"fields": ("title", "slug", "tagline")}),
            ("Times", {"fields": ("opens_at", "closes_at")}),
            ("Texts", {"fields": ("description", *rules, "data_description")}),
            ("People", {"fields": ("visibility", "invited_names", "organizer_names")}),
            ("Limits", {"fields": _LIMITS}),
        )

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Competition | None:
        """For a change under a lock, so that it doesn't write over what is done meanwhile."""
        changing = request.method == "POST" and transaction.get_connection().in_atomic_block
        if changing and object_id.isdecimal():
            Competition.objects.select_for_update().filter(pk=object_id).first()
        return super().get_object(request, object_id, from_field)

    def get_readonly_fields(
        self, request: HttpRequest, obj: Competition | None = None
    ) -> tuple[str, ...]:
        """What participants rely on: the address, and after the end what led to it."""
        if obj is None or obj.opened_by_organizer_at is None:
            return ()
        if obj.finals_started_at is not None:
            return ("slug", *_FIXED_BY_THE_END)
        return ("slug",) if obj.announced_closes_at is None else ("slug", "closes_at")

    def get_form(
        self,
        request: HttpRequest,
        obj: Competition | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> type[ModelForm[Competition]]:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.user = signed_in(request)  # type: ignore[attr-defined]  # a class of its own per request
        return form

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Competition | None = None
    ) -> dict[str, Sequence[str]]:
        return {} if obj else {"slug": ("title",)}

    def save_model(
        self, request: HttpRequest, obj: Competition, form: ModelForm[Competition], change: bool
    ) -> None:
        if form.cleaned_data.get("ask_again"):
            obj.rules_version += 1
        super().save_model(request, obj, form, change)

    def save_related(
        self, request: HttpRequest, form: ModelForm[Competition], formsets: Any, change: bool
    ) -> None:
        super().save_related(request, form, formsets, change)
        form.instance.organizers.set(form.cleaned_data["organizer_names"])
        form.instance.invited.set(form.cleaned_data["invited_names"])

    def response_add(
        self, request: HttpRequest, obj: Competition, post_url_continue: str | None = None
    ) -> HttpResponse:
        self.message_user(request, "Saved as a draft that only you see.", messages.SUCCESS)
        return HttpResponseRedirect(next_url(obj, "change"))

    def response_change(self, request: HttpRequest, obj: Competition) -> HttpResponse:
        self.message_user(request, "Saved.", messages.SUCCESS)
        return redirect("admin:leaderboard_competition_change", obj.pk)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Competition | None = None,
    ) -> HttpResponse:
        extra = frame(obj, "change") if obj else {"title": "New competition"}
        return super().render_change_form(request, context | extra, add, change, form_url, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with a competition that nobody has submitted to."""
        (competition,) = objs
        listed = [
            format_html("{}: the competition, its texts and settings", competition),
            f"{competition.files.count()} files",
            f"{competition.holdouts.count()} sealed solutions",
            f"{competition.teams.count()} teams",
        ]
        return listed, {}, set(), []

    def delete_model(self, request: HttpRequest, obj: Competition) -> None:
        organize.delete_competition(obj)

    def get_urls(self) -> list[URLPattern]:
        pages = [
            path(f"<int:object_id>/{address}", self._own(view), name=f"{_PREFIX}_{name}")
            for address, name, view in _PAGES
        ]
        texts = path(
            "preview/", self.admin_site.admin_view(preview.page), name=f"{_PREFIX}_preview"
        )
        return [texts, *pages, *super().get_urls()]

    def _own(self, view: View) -> View:
        """The view of one competition, for its organizers; to others it doesn't exist."""

        def wrapper(request: HttpRequest, object_id: int, **kwargs: Any) -> HttpResponse:
            competition = self.get_queryset(request).filter(pk=object_id).first()
            if competition is None:
                raise Http404("There is no such competition.")
            return view(request, competition, self, **kwargs)

        return self.admin_site.admin_view(update_wrapper(wrapper, view))


_PREFIX = "leaderboard_competition"


def _count(rows: QuerySet[Any], path_to_competition: str) -> Coalesce:
    """How many of the rows belong to each competition; rows are not multiplied by joins."""
    grouped = rows.order_by().values(path_to_competition)
    return Coalesce(Subquery(grouped.annotate(there=Count("*")).values("there")), 0)
