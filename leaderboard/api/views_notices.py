"""A person's inbox."""

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import queries
from leaderboard.api.base import View, person
from leaderboard.api.paging import LARGEST_PAGE, Page, PageQuery
from leaderboard.api.schema import WRITES, pages_of, responses
from leaderboard.api.serializers.base import Body, Out
from leaderboard.models import NoticeKind
from leaderboard.participate import notices
from leaderboard.queries.notices import MOST_COUNTED, NoticeRow

UNREAD = f"How many you have not read; {MOST_COUNTED} stands for that many or more."


class NoticesQuery(PageQuery):
    """The query parameters of the inbox."""

    unread = serializers.BooleanField(default=False, help_text="Only those you have not read.")


class NoticeItem(Out):
    """Something that happened, and concerns you."""

    id = serializers.CharField(source="uid")
    kind = serializers.ChoiceField(choices=NoticeKind.choices)
    competition = serializers.CharField(source="competition.slug")
    title = serializers.CharField(source="text.subject")
    text = serializers.CharField(source="text.body", help_text="Markdown of an announcement.")
    url = serializers.SerializerMethodField(help_text="The page that it is about.")
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True, help_text="Null: you have not read it.")

    def get_url(self, row: NoticeRow) -> str:
        return f"{settings.SITE_URL}{row.text.path}"


class Unread(Out):
    """How many notices are left to read."""

    count_unread = serializers.IntegerField(help_text=UNREAD)


class ReadBody(Body):
    """What you have read."""

    ids = serializers.ListField(
        child=serializers.CharField(max_length=32),
        max_length=LARGEST_PAGE,
        required=False,
        help_text="The ids of notices; all of them if left out.",
    )


class NoticesView(View):
    @extend_schema(
        operation_id="notices",
        tags=["account"],
        summary="Read your inbox",
        description="What happened in your competitions and concerns you, the newest first.",
        parameters=[NoticesQuery],
        responses=responses(
            {
                200: pages_of(
                    NoticeItem,
                    "Notice",
                    count_unread=serializers.IntegerField(help_text=UNREAD),
                )
            },
            *("invalid", "not_found", "not_authenticated"),
        ),
    )
    def get(self, request: Request) -> Response:
        page, user = Page.of(request, NoticesQuery), person(request)
        asked = NoticesQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = queries.inbox(user)
        if asked.validated_data["unread"]:
            found = found.filter(read_at__isnull=True)
        rows = queries.notice_rows(found[page.part])
        count_unread = queries.count_unread(user)
        return page.answer(NoticeItem, rows, found.count(), count_unread=count_unread)


class ReadView(View):
    @extend_schema(
        operation_id="notices_read",
        tags=["account"],
        summary="Mark notices as read",
        description="Those that are named, or all. Reading one twice changes nothing.",
        request=ReadBody,
        responses=responses({200: Unread}, *WRITES, "not_found"),
    )
    def post(self, request: Request) -> Response:
        user, ids = person(request), ReadBody.read(request).get("ids")
        if ids is not None and queries.inbox(user).filter(uid__in=ids).count() < len(set(ids)):
            raise Http404("There is no such notice in your inbox.")
        notices.mark_read(user, ids)
        return Response(Unread({"count_unread": queries.count_unread(user)}).data)
