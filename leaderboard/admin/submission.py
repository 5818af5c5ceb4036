"""Submissions: read only, but those that failed on our side can be queued again."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from leaderboard.access import signed_in
from leaderboard.admin.scope import CompetitionFilter, ReadOnlyAdmin
from leaderboard.errors import Refused
from leaderboard.models import Status, Submission
from leaderboard.pipeline.queue import requeue_failed
from leaderboard.queries import submission_row
from leaderboard.templatetags.marks import state
from leaderboard.templatetags.text import ago, ticks
from leaderboard.words import summary


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin[Submission]):
    """Submissions: to be read, and failed ones to be queued again."""

    competition_path = "team__competition"
    list_display = (*("name", "competition", "person", "shown_status", "failure", "uploaded"),)
    list_filter = ("status", CompetitionFilter)
    list_select_related = ("team__competition", "user")
    list_per_page = 50
    search_fields = ("team__name", "user__username", "file_name")
    show_full_result_count = False
    fields = (
        *("name", "competition", "person", "shown_status", "said", "listed_problems", "failure"),
        *("file_name", "size", "sha256", "message", "claimed_score", "attempts"),
        *("created_at", "claimed_at", "read_at", "finished_at"),
    )
    readonly_fields = ("name", "competition", "person", "shown_status", "said", "listed_problems")
    actions = ("requeue",)

    name = admin.display(
        lambda self, obj: str(obj), description="Submission", ordering="team__name"
    )
    competition = admin.display(lambda self, obj: obj.team.competition, description="Competition")
    person = admin.display(
        lambda self, obj: obj.user.get_username(),
        description="Uploaded by",
        ordering="user__username",
    )
    uploaded = admin.display(
        lambda self, obj: ago(obj.created_at), description="Uploaded", ordering="created_at"
    )

    @admin.display(description="Status", ordering="status")
    def shown_status(self, obj: Submission) -> SafeString:
        status = Status(obj.status)
        return state("success" if status is Status.RELEASED else status.value, status.label)

    @admin.display(description="What the team sees")
    def said(self, obj: Submission) -> str:
        return summary(submission_row(obj))

    @admin.display(description="Problems in the file")
    def listed_problems(self, obj: Submission) -> str:
        lines = [(ticks(problem["message"]),) for problem in submission_row(obj).problems]
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", lines)) or ""

    @admin.action(description="Queue again those that failed")
    def requeue(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Queue the failed ones among the chosen again: what is released stays released."""
        failed: list[Any] = list(queryset.filter(status=Status.FAILED))
        try:
            chosen = Submission.objects.filter(pk__in=[each.pk for each in failed])
            count = requeue_failed(chosen, by=signed_in(request))
        except Refused as refused:
            self.message_user(request, str(refused), messages.WARNING)
            return
        for each in failed:
            self.log_change(request, each, "Queued again.")
        if count:
            self.message_user(request, f"{count} queued again.", messages.SUCCESS)
        else:
            self.message_user(request, "None of these had failed.", messages.WARNING)
