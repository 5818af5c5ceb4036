"""A team's campaigns: begin them, limit them, end them, and see what they were told."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import View, own_team, person
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import MEMBERS, WRITES, cli, pages_of, responses
from leaderboard.api.serializers.campaigns import (
    CampaignBody,
    CampaignChange,
    CampaignDetail,
    CampaignItem,
)
from leaderboard.models import Campaign, Scope
from leaderboard.participate import campaigns


class OwnersView(View):
    """An operation that an agent whose token submits can't do: its owner does."""

    @staticmethod
    def needed_scope(method: str | None) -> Scope | None:
        return Scope.READ if method in SAFE_METHODS else Scope.CAMPAIGNS


class CampaignsView(OwnersView):
    @extend_schema(
        operation_id="campaigns",
        extensions=cli("holdfast campaigns digits"),
        tags=["campaigns"],
        summary="List your team's campaigns",
        description="The newest first, each with what it was told of the hidden rows.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(CampaignItem, "Campaign")}, "invalid", *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, team = Page.of(request), own_team(request, slug)
        rows = queries.campaign_rows(team, page.part)
        return page.answer(CampaignItem, rows, team.campaigns.count())

    @extend_schema(
        operation_id="begin_campaign",
        extensions=cli("holdfast campaign digits night-run --begin --limit 500"),
        tags=["campaigns"],
        summary="Begin a campaign",
        description=(
            "A name under which your team's submissions are grouped, such as an agent's run. Its "
            "`limit` counts by the rule of quotas: rejected and repeated files take none of it."
        ),
        request=CampaignBody,
        responses=responses({201: CampaignDetail}, *WRITES, *MEMBERS),
    )
    def post(self, request: Request, slug: str) -> Response:
        team, body = own_team(request, slug), CampaignBody.read(request)
        made = campaigns.begin(team=team, user=person(request), **body)
        return _shown(request, made, status.HTTP_201_CREATED)


class CampaignView(OwnersView):
    @extend_schema(
        operation_id="campaign",
        extensions=cli("holdfast campaign digits night-run"),
        tags=["campaigns"],
        summary="See one campaign of your team",
        description="What it was told, beside your team and the whole competition.",
        responses=responses({200: CampaignDetail}, *MEMBERS),
    )
    def get(self, request: Request, slug: str, campaign: str) -> Response:
        return _shown(request, access.campaign_or_404(own_team(request, slug), campaign))

    @extend_schema(
        operation_id="change_campaign",
        extensions=cli("holdfast campaign digits night-run --limit 800"),
        tags=["campaigns"],
        summary="Change a campaign's limit, or end it",
        description="What is left out stays. A campaign that ended takes no more submissions.",
        request=CampaignChange,
        responses=responses({200: CampaignDetail}, *WRITES, *MEMBERS, "campaign_ended"),
    )
    def patch(self, request: Request, slug: str, campaign: str) -> Response:
        found = access.campaign_or_404(own_team(request, slug), campaign)
        body, user = CampaignChange.read(request), person(request)
        if "limit" in body:
            campaigns.change_limit(campaign=found, user=user, limit=body["limit"])
        if "ended" in body:
            campaigns.end(campaign=found, user=user)
        return _shown(request, found)


def _shown(request: Request, campaign: Campaign, code: int = status.HTTP_200_OK) -> Response:
    team = campaign.team
    row = {
        **vars(queries.campaign_row(campaign)),
        "team_exposure": queries.team_exposure(team),
        "competition_exposure": queries.competition_exposure(team.competition, request.user),
    }
    return Response(CampaignDetail(row).data, status=code)
