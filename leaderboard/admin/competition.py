"""Competitions: the list, the settings, and the pages of the steps that follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Max, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from leaderboard import access, organize
from leaderboard.admin import (
    budget,
    ending,
    files,
    opening,
    preview,
    publication,
    revision,
    schema,
    scoring,
    settings,
    solution,
)
from leaderboard.admin.scope import OwnedAdmin, signed_in
from leaderboard.admin.steps import url_of
from leaderboard.models import (
    Competition,
    CompetitionFile,
    Holdout,
    Phase,
    Status,
    Submission,
    Team,
)
from leaderboard.organize.people import may_organize_at_all
from leaderboard.templatetags.marks import state
from leaderboard.templatetags.text import ago

View = Callable[..., HttpResponseBase]

_PAGES: tuple[tuple[str, str, View], ...] = (
    ("schema/", "schema", schema.page),
    ("scoring/", "scoring", scoring.page),
    ("files/", "files", files.page),
    ("files/<int:file_id>/remove/", "files_remove", files.remove),
    ("solution/", "solution", solution.page),
    ("solution/revision/", "solution_revision", revision.page),
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
    ("publication/", "publication", publication.page),
)


@admin.register(Competition)
class CompetitionAdmin(OwnedAdmin[Competition]):
    """Competitions, each with the steps of its set-up."""

    competition_path = "pk"
    list_display = ("title", "phase", "moment", "team_count", "submission_count", "failed_count")
    list_filter = ("visibility",)
    search_fields = ("title", "slug")
    change_list_template = "admin/competition/list.html"

    def competition_of(self, obj: Competition) -> Competition:
        return obj

    def get_queryset(self, request: HttpRequest) -> QuerySet[Competition]:
        submissions = Submission.objects.filter(team__competition=OuterRef("pk"))
        teams = Team.objects.filter(competition=OuterRef("pk"))
        return (
            super()
            .get_queryset(request)
            .prefetch_related("rounds__ledger", "rounds__boards")
            .annotate(
                closes_next=Max("rounds__closes_at"),
                teams_there=_count(teams, "competition"),
                submissions_there=_count(submissions, "team__competition"),
                failed_there=_count(submissions.filter(status=Status.FAILED), "team__competition"),
            )
        )

    @admin.display(description="Phase")
    def phase(self, obj: Competition) -> SafeString:
        phase = obj.phase(timezone.now())
        return state(phase.value, phase.label)

    @admin.display(description="Next", ordering="closes_next")
    def moment(self, obj: Competition) -> SafeString:
        round = obj.current_round
        phase = round.phase(timezone.now())
        if phase is Phase.DRAFT:
            return format_html('<a href="{}">Checklist</a>', url_of(obj, "opening"))
        words = {Phase.UPCOMING: "opens", Phase.OPEN: "closes", Phase.CLOSED: "closed"}
        when = round.opens_at if phase is Phase.UPCOMING else round.closes_at
        return format_html("{} {}", words[phase], ago(when)) if when else format_html("no end")

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
        return may_organize_at_all(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether an owner may delete it: until somebody submits, as the ledger is kept
        then."""
        if not isinstance(obj, Competition) or not self.is_mine(request, obj):
            return False
        submitted = Submission.objects.filter(team__competition=obj).exists()
        return not submitted and not organize.is_frozen(obj.current_round)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return settings.new_page(request, self)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        competition = self.get_object(request, object_id)
        if competition is None:
            return super().change_view(request, object_id)
        page = self._only_look_unless_allowed(settings.page, request, competition)
        return cast("HttpResponse", page)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List what goes with a competition that nobody has submitted to."""
        (competition,) = objs
        files = CompetitionFile.objects.filter(round__competition=competition)
        solutions = Holdout.objects.filter(ledger__competition=competition)
        listed = [
            format_html("{}: the competition, its texts and settings", competition),
            f"{files.count()} files",
            f"{solutions.count()} sealed solutions",
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
        """Serve a view of one competition to its organizers; to others it doesn't exist."""

        def wrapper(request: HttpRequest, object_id: int, **kwargs: Any) -> HttpResponseBase:
            competition = self.get_queryset(request).filter(pk=object_id).first()
            if competition is None:
                raise Http404("There is no such competition.")
            return self._only_look_unless_allowed(view, request, competition, **kwargs)

        return self.admin_site.admin_view(update_wrapper(wrapper, view))

    def _only_look_unless_allowed(
        self, view: View, request: HttpRequest, competition: Competition, **kwargs: Any
    ) -> HttpResponseBase:
        looks = request.method in ("GET", "HEAD", "OPTIONS")
        if not looks and not access.may_organize(request.user, competition):
            raise PermissionDenied
        return view(request, competition, self, **kwargs)


_PREFIX = "leaderboard_competition"


def _count(rows: QuerySet[Any], path_to_competition: str) -> Coalesce:
    """Count the rows of each competition; they are not multiplied by joins."""
    grouped = rows.order_by().values(path_to_competition)
    return Coalesce(Subquery(grouped.annotate(there=Count("*")).values("there")), 0)
