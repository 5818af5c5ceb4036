"""Competitions: the list, the settings, and the pages of the steps that follow."""

from functools import update_wrapper
from typing import Any

from django.contrib import admin
from django.db.models import Count, Max, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard import organize
from leaderboard.access import Right, may, signed_in
from leaderboard.admin import (
    budget,
    ending,
    files,
    opening,
    publication,
    revision,
    schema,
    scoring,
    settings,
    solution,
)
from leaderboard.admin.scope import OwnedAdmin
from leaderboard.admin.steps import View, url_of
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

_PAGES: tuple[tuple[str, str, View], ...] = (
    ("schema/", "schema", schema.page),
    ("scoring/", "scoring", scoring.page),
    ("scoring/proposal/", "scoring_proposal", scoring.use_proposal),
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

    team_count = admin.display(lambda self, obj: obj.teams_there, description="Teams")
    submission_count = admin.display(
        lambda self, obj: obj.submissions_there, description="Submissions"
    )

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

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_organize_at_all(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether it may be deleted: until somebody submits, as the ledger is kept then."""
        if not isinstance(obj, Competition) or not may_organize_at_all(request.user):
            return False
        return may(request.user, obj, Right.OWN) and not organize.has_answers(obj)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return settings.new_page(request)

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
        return settings.page(request, competition)

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
        organize.delete_competition(obj, by=signed_in(request))

    def get_urls(self) -> list[URLPattern]:
        pages = [
            path(
                f"<int:object_id>/{address}",
                self._own(view),
                name=f"leaderboard_competition_{name}",
            )
            for address, name, view in _PAGES
        ]
        texts = self.admin_site.admin_view(preview)
        texts_path = path("preview/", texts, name="leaderboard_competition_preview")
        return [texts_path, *pages, *super().get_urls()]

    def _own(self, view: View) -> View:
        """Serve a view of one competition to its organizers; to others it doesn't exist."""

        def wrapper(request: HttpRequest, object_id: int, **kwargs: Any) -> HttpResponseBase:
            competition = self.get_queryset(request).filter(pk=object_id).first()
            if competition is None:
                raise Http404("There is no such competition.")
            return view(request, competition, **kwargs)

        checked = require_http_methods(["GET", "HEAD", "POST"])(update_wrapper(wrapper, view))
        return self.admin_site.admin_view(checked)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Show what Markdown texts look like as they were typed; store nothing."""
    texts = (("description", "Overview"), ("rules", "Rules"), ("data_description", "Data"))
    context = {
        "title": request.POST.get("title", "") or "Preview",
        "texts": [(label, request.POST.get(name, "")) for name, label in texts],
    }
    return render(request, "admin/competition/preview.html", context)


def _count(rows: QuerySet[Any], path_to_competition: str) -> Coalesce:
    """Count the rows of each competition; they are not multiplied by joins."""
    grouped = rows.order_by().values(path_to_competition)
    return Coalesce(Subquery(grouped.annotate(there=Count("*")).values("there")), 0)
