"""A competition that runs: submissions, teams, organizers, budget, and what happened."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, organize, queries
from leaderboard.api.base import person
from leaderboard.api.organize.base import CHANGES, READS, TAGS, OrganizeView, mine
from leaderboard.api.organize.serializers.running import (
    Budget,
    BudgetBody,
    BudgetQuery,
    EventItem,
    OrganizedTeam,
    OrganizerBody,
    OrganizerItem,
    RequeueBody,
    Requeued,
    SubmissionItem,
    SubmissionQuery,
    TeamPatch,
    TeamRow,
    team_detail,
)
from leaderboard.api.paging import Page, PageQuery, SearchQuery
from leaderboard.api.schema import cli, pages_of, responses
from leaderboard.errors import Refused
from leaderboard.models import Competition, Submission, Team
from leaderboard.organize.people import add_organizer, find_account, remove_organizer
from leaderboard.organize.teams import change_team
from leaderboard.pipeline.queue import requeue_failed
from leaderboard.queries.audit import events
from leaderboard.queries.budgets import budget
from leaderboard.queries.guarantees import guarantee_if_used


class SubmissionsView(OrganizeView):
    @extend_schema(
        operation_id="organized_submissions",
        tags=TAGS,
        summary="List the submissions of all teams",
        description="The newest first; of a score what was released, nothing else.",
        parameters=[PageQuery, SubmissionQuery],
        responses=responses({200: pages_of(SubmissionItem, "TeamSubmission")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, asked = Page.of(request), SubmissionQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        asked_for = dict(asked.validated_data)
        rows, total = queries.organized_part(mine(request, slug), page.part, **asked_for)
        return page.answer(SubmissionItem, rows, total)


class RequeueView(OrganizeView):
    @extend_schema(
        operation_id="requeue",
        tags=TAGS,
        summary="Queue failed submissions again",
        description="All of the competition, of one team, or one; those that didn't fail stay.",
        request=RequeueBody,
        responses=responses({200: Requeued}, *CHANGES, "finals_started"),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), RequeueBody.read(request)
        chosen = Submission.objects.filter(team__competition=competition)
        if "team" in body:
            chosen = chosen.filter(team=access.team_or_404(competition, body["team"]))
        if "number" in body:
            chosen = chosen.filter(number=body["number"])
        count = requeue_failed(chosen, by=person(request))
        return Response(Requeued({"requeued": count}).data)


class TeamsView(OrganizeView):
    @extend_schema(
        operation_id="organized_teams",
        tags=TAGS,
        summary="List the teams, with their captains",
        description="By name; `search` looks in the names.",
        parameters=[SearchQuery],
        responses=responses({200: pages_of(TeamRow, "OrganizedTeam")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request, SearchQuery)
        rows, total = queries.team_rows(
            mine(request, slug), request.user, search=page.search, part=page.part
        )
        return page.answer(TeamRow, rows, total)


class TeamView(OrganizeView):
    @extend_schema(
        operation_id="organized_team",
        tags=TAGS,
        summary="See a team",
        description="With its members.",
        responses=responses({200: OrganizedTeam}, *READS),
    )
    def get(self, request: Request, slug: str, uid: str) -> Response:
        return _team(access.team_or_404(mine(request, slug), uid))

    @extend_schema(
        operation_id="change_team",
        tags=TAGS,
        summary="Rename a team, or mark it",
        description="As a baseline, or as verified. What is left out stays as it is.",
        request=TeamPatch,
        responses=responses({200: OrganizedTeam}, *CHANGES),
    )
    def patch(self, request: Request, slug: str, uid: str) -> Response:
        team = access.team_or_404(mine(request, slug), uid)
        change_team(team, person(request), **TeamPatch.read(request))
        return _team(team)


class OrganizersView(OrganizeView):
    @extend_schema(
        operation_id="organizers",
        extensions=cli("holdfast organize people digits"),
        tags=TAGS,
        summary="List who runs the competition",
        description="With their roles.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(OrganizerItem, "Organizer")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, found = Page.of(request), mine(request, slug).roles.select_related("user")
        return page.answer(OrganizerItem, found[page.part], found.count())


class OrganizerView(OrganizeView):
    @extend_schema(
        operation_id="set_organizer",
        extensions=cli("holdfast organize people digits --add alice --role editor"),
        tags=TAGS,
        summary="Give a person a role",
        description="Or another one than before. Only an owner can.",
        request=OrganizerBody,
        responses=responses({200: OrganizerItem}, *CHANGES),
    )
    def put(self, request: Request, slug: str, username: str) -> Response:
        competition, role = mine(request, slug), OrganizerBody.read(request)["role"]
        user = find_account(username)
        add_organizer(competition, user, role, person(request))
        return Response(OrganizerItem(competition.roles.get(user=user)).data)

    @extend_schema(
        operation_id="remove_organizer",
        extensions=cli("holdfast organize people digits --remove alice"),
        tags=TAGS,
        summary="Take the competition from a person",
        description="Only an owner can; the last owner stays.",
        responses=responses({204: None}, *CHANGES),
    )
    def delete(self, request: Request, slug: str, username: str) -> Response:
        competition = mine(request, slug)
        user = find_account(username)
        remove_organizer(competition, user, person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class BudgetView(OrganizeView):
    @extend_schema(
        operation_id="budget",
        tags=TAGS,
        summary="See what the ledger answered, and what is left",
        description="Once the competition has been opened.",
        parameters=[BudgetQuery],
        responses=responses({200: Budget}, "invalid", *READS, "competition_not_open"),
    )
    def get(self, request: Request, slug: str) -> Response:
        asked = BudgetQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return _budget(mine(request, slug), asked.validated_data.get("amount"))

    @extend_schema(
        operation_id="add_budget",
        tags=TAGS,
        summary="Add answers to the budget",
        description="Of all teams, or to the share of one. It is an entry of the public ledger.",
        request=BudgetBody,
        responses=responses({200: Budget}, *CHANGES, "finals_started", "paused", "watermark_away"),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), BudgetBody.read(request)
        team = access.team_or_404(competition, body["team"]) if "team" in body else None
        board = competition.current_round.board
        organize.add_budget(board, body["amount"], by=person(request), team=team)
        return _budget(mine(request, slug), None)


class EventsView(OrganizeView):
    @extend_schema(
        operation_id="events",
        tags=TAGS,
        summary="See what happened",
        description="Every action, with who did it and when; the newest first.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(EventItem, "Event")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, found = Page.of(request), events(mine(request, slug), person(request))
        return page.answer(EventItem, found[page.part], found.count())


def _team(team: Team) -> Response:
    return Response(OrganizedTeam(team_detail(team, queries.members(team))).data)


def _budget(competition: Competition, amount: int | None) -> Response:
    board = competition.current_round.board
    found = budget(board)
    if found is None:
        raise Refused("competition_not_open")
    costs = [{"board": name, "nats": nats} for name, nats in found.costs]
    half = guarantee_if_used(board, amount) if amount else None
    return Response(Budget(vars(found) | {"costs": costs, "half_width_if_used": half}).data)
