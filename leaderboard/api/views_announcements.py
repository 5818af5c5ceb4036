"""What organizers announced."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import PublicView
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import pages_of, responses
from leaderboard.api.serializers.base import Out


class AnnouncementItem(Out):
    """An announcement of the organizers."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    text = serializers.CharField(help_text="Markdown, with TeX between dollar signs.")
    author = serializers.CharField(
        source="author.username", allow_null=True, default=None, help_text="Who announced it."
    )
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True, help_text="Null: as it was announced.")


class AnnouncementsView(PublicView):
    @extend_schema(
        operation_id="announcements",
        tags=["competitions"],
        summary="List a competition's announcements",
        description="The newest first. What was withdrawn is not among them.",
        parameters=[PageQuery],
        responses=responses(
            {200: pages_of(AnnouncementItem, "Announcement")}, "invalid", "not_found"
        ),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request)
        competition = access.competition_or_404(request.user, slug)
        found = queries.announcements(competition)
        return page.answer(AnnouncementItem, found[page.part], found.count())
