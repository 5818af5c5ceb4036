"""What organizers tell: announcements to people, webhooks to programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import person
from leaderboard.api.organize.base import CHANGES, READS, TAGS, NoBody, OrganizeView, mine
from leaderboard.api.organize.serializers.more import (
    AnnouncementBody,
    DeliveryItem,
    OrganizedAnnouncement,
    WebhookBody,
    WebhookDetail,
    WebhookItem,
    WebhookPatch,
)
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import cli, pages_of, responses
from leaderboard.api.serializers.base import Json
from leaderboard.models import Competition, Webhook
from leaderboard.notify.webhooks import secret_of
from leaderboard.organize import announcements, webhooks


class AnnouncementsView(OrganizeView):
    @extend_schema(
        operation_id="organized_announcements",
        tags=TAGS,
        summary="List the announcements",
        description="Those that were not withdrawn, the newest first.",
        parameters=[PageQuery],
        responses=responses(
            {200: pages_of(OrganizedAnnouncement, "OrganizedAnnouncement")}, "invalid", *READS
        ),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, found = Page.of(request), queries.announcements(mine(request, slug))
        return page.answer(OrganizedAnnouncement, found[page.part], found.count())

    @extend_schema(
        operation_id="announce",
        extensions=cli('holdfast organize announce digits "New data" -m "See the data page."'),
        tags=TAGS,
        summary="Announce something",
        description="On the pages, in the feed, and by mail to the members who want it.",
        request=AnnouncementBody,
        responses=responses({201: OrganizedAnnouncement}, *CHANGES),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), AnnouncementBody.read(request)
        made = announcements.announce(competition, by=person(request), **body)
        return Response(OrganizedAnnouncement(made).data, status=status.HTTP_201_CREATED)


class AnnouncementView(OrganizeView):
    @extend_schema(
        operation_id="edit_announcement",
        tags=TAGS,
        summary="Change an announcement",
        description="It shows that it was edited; no mail is sent again.",
        request=AnnouncementBody,
        responses=responses({200: OrganizedAnnouncement}, *CHANGES),
    )
    def put(self, request: Request, slug: str, number: int) -> Response:
        found = access.announcement_or_404(mine(request, slug), number)
        announcements.edit(found, by=person(request), **AnnouncementBody.read(request))
        return Response(OrganizedAnnouncement(found).data)

    @extend_schema(
        operation_id="withdraw_announcement",
        tags=TAGS,
        summary="Take an announcement back",
        description="And mails that are not sent yet; those that are can't be.",
        responses=responses({204: None}, *CHANGES),
    )
    def delete(self, request: Request, slug: str, number: int) -> Response:
        found = access.announcement_or_404(mine(request, slug), number)
        announcements.withdraw(found, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class WebhooksView(OrganizeView):
    @extend_schema(
        operation_id="webhooks",
        tags=TAGS,
        summary="List the webhooks",
        description="Addresses that events are sent to, and how they do: for owners and editors.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(WebhookItem, "Webhook")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, found = Page.of(request), _readable(request, slug).webhooks.all()
        return page.answer(WebhookItem, found[page.part], found.count())

    @extend_schema(
        operation_id="add_webhook",
        tags=TAGS,
        summary="Add a webhook",
        description="Messages are signed by its `secret` (HMAC-SHA-256).",
        request=WebhookBody,
        responses=responses({201: WebhookDetail}, *CHANGES),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), WebhookBody.read(request)
        made = webhooks.add_webhook(competition, by=person(request), **body)
        return Response(_webhook(made), status=status.HTTP_201_CREATED)


class WebhookView(OrganizeView):
    @extend_schema(
        operation_id="change_webhook",
        tags=TAGS,
        summary="Change a webhook",
        description="Its address and events, on or off, or another secret.",
        request=WebhookPatch,
        responses=responses({200: WebhookDetail}, *CHANGES),
    )
    def patch(self, request: Request, slug: str, uid: str) -> Response:
        found, user = access.webhook_or_404(_readable(request, slug), uid), person(request)
        body = WebhookPatch.read(request)
        if body.keys() & {"url", "kinds"}:
            given = {name: body.get(name, getattr(found, name)) for name in ("url", "kinds")}
            webhooks.change_webhook(found, by=user, **given)
        if body.get("renew_secret"):
            webhooks.renew_secret(found, by=user)
        if "is_on" in body:
            webhooks.switch_webhook(found, by=user, on=body["is_on"])
        return Response(_webhook(found))

    @extend_schema(
        operation_id="delete_webhook",
        tags=TAGS,
        summary="Delete a webhook",
        description="With the list of what it was sent.",
        responses=responses({204: None}, *CHANGES),
    )
    def delete(self, request: Request, slug: str, uid: str) -> Response:
        found = access.webhook_or_404(_readable(request, slug), uid)
        webhooks.delete_webhook(found, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DeliveriesView(OrganizeView):
    @extend_schema(
        operation_id="deliveries",
        tags=TAGS,
        summary="See what a webhook was sent",
        description="With the last answers, the newest first.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(DeliveryItem, "Delivery")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str, uid: str) -> Response:
        page = Page.of(request)
        found = access.webhook_or_404(_readable(request, slug), uid).deliveries.all()
        return page.answer(DeliveryItem, found[page.part], found.count())

    @extend_schema(
        operation_id="try_webhook",
        tags=TAGS,
        summary="Send a webhook a test",
        description="A message that is no event; the list shows what was answered.",
        request=None,
        responses=responses({202: None}, *CHANGES),
    )
    def post(self, request: Request, slug: str, uid: str) -> Response:
        NoBody.read(request)
        found = access.webhook_or_404(_readable(request, slug), uid)
        webhooks.try_webhook(found, by=person(request))
        return Response(status=status.HTTP_202_ACCEPTED)


def _readable(request: Request, slug: str) -> Competition:
    """Return a competition whose webhooks the person may read."""
    competition = mine(request, slug)
    webhooks.check_sees_webhooks(competition, person(request))
    return competition


def _webhook(webhook: Webhook) -> Json:
    return dict(WebhookDetail(vars(webhook) | {"secret": secret_of(webhook)}).data)
