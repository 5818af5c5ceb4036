"""Gates, for those who make them."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import person
from leaderboard.api.organize.base import CHANGES, READS, TAGS, OrganizeView, mine
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import pages_of, responses
from leaderboard.api.serializers.gates import GateBody, GateItem, PromoteBody
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, Submission
from leaderboard.organize.gates import NewGate, make_gate, promote_gate, retire_gate

_REFUSED = (*CHANGES, "gate_closed", "finals_started", "paused", "watermark_away")


class GatesView(OrganizeView):
    @extend_schema(
        operation_id="organized_gates",
        tags=TAGS,
        summary="List the gates",
        description="Those of the current round that are not retired.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(GateItem, "OrganizedGate")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, found = Page.of(request), queries.gates(mine(request, slug).current_round)
        return page.answer(GateItem, found[page.part], len(found))

    @extend_schema(
        operation_id="make_gate",
        tags=TAGS,
        summary="Make a gate",
        description="It is never changed. How many are left, and what it promises, comes back.",
        request=GateBody,
        responses=responses({201: GateItem}, *_REFUSED),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), GateBody.read(request)
        board = _board(competition, body.pop("board", None))
        in_use = None
        if "team" in body:
            in_use = _entry(competition, body.pop("team"), body.pop("submission"))
        new = NewGate(in_use=in_use, **body)
        made = make_gate(board, new, by=person(request))
        return Response(GateItem(queries.shown_gate(made)).data, status=status.HTTP_201_CREATED)


class GateView(OrganizeView):
    @extend_schema(
        operation_id="retire_gate",
        tags=TAGS,
        summary="Retire a gate",
        description="It is never asked again; its name is free for another one.",
        responses=responses({204: None}, *CHANGES, "watermark_away"),
    )
    def delete(self, request: Request, slug: str, gate: str) -> Response:
        found = access.gate_or_404(mine(request, slug).current_round, gate)
        retire_gate(found, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class PromoteView(OrganizeView):
    @extend_schema(
        operation_id="promote_gate",
        tags=TAGS,
        summary="Put a file that passed in the place of the one in use",
        description="That makes a new gate of the same name, and retires this one.",
        request=PromoteBody,
        responses=responses({200: GateItem}, *_REFUSED),
    )
    def post(self, request: Request, slug: str, gate: str) -> Response:
        competition = mine(request, slug)
        found = access.gate_or_404(competition.current_round, gate)
        body = PromoteBody.read(request)
        passed = _entry(competition, body["team"], body["submission"])
        after = promote_gate(found, passed, by=person(request))
        return Response(GateItem(queries.shown_gate(after)).data)


def _entry(competition: Competition, team: str, number: int) -> Submission:
    return access.entry_or_404(access.team_or_404(competition, team), number)


def _board(competition: Competition, position: int | None) -> Board:
    boards = competition.current_round.boards.all()
    found = next((each for each in boards if each.position == (position or 0)), None)
    if found is None:
        raise Refused("invalid", field="board", variant="no_such_board")
    return found
