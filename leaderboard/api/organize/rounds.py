"""Rounds, their boards, and practice after the end."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, organize
from leaderboard.api.base import person
from leaderboard.api.organize.base import CHANGES, READS, TAGS, OrganizeView, action, mine
from leaderboard.api.organize.data import FIXED
from leaderboard.api.organize.serializers.data import ScoringBody
from leaderboard.api.organize.serializers.more import (
    BoardBody,
    PracticeBody,
    RoundBoard,
    RoundBody,
    RoundItem,
    RoundPatch,
)
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import pages_of, responses
from leaderboard.api.serializers.base import Json
from leaderboard.models import Board, Round
from leaderboard.organize.scoring import complete_scoring


class RoundsView(OrganizeView):
    @extend_schema(
        operation_id="rounds",
        tags=TAGS,
        summary="List the rounds with their boards",
        description="In their order.",
        parameters=[PageQuery],
        responses=responses({200: pages_of(RoundItem, "Round")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, competition = Page.of(request), mine(request, slug)
        found = competition.rounds.order_by("number")
        rows = [_round(each) for each in found[page.part]]
        return page.answer(RoundItem, rows, found.count())

    @extend_schema(
        operation_id="add_round",
        tags=TAGS,
        summary="Add a round behind the last one",
        description="With a board like the last one's. It brings rows of its own or `continues`.",
        request=RoundBody,
        responses=responses({201: RoundItem}, *CHANGES, "finals_started", "watermark_away"),
    )
    def post(self, request: Request, slug: str) -> Response:
        body = RoundBody.read(request)
        made = organize.add_round(mine(request, slug), by=person(request), **body)
        return Response(RoundItem(_round(made)).data, status=status.HTTP_201_CREATED)


class RoundView(OrganizeView):
    @extend_schema(
        operation_id="change_round",
        tags=TAGS,
        summary="Change a round that has not begun",
        description="Times and limits; those of the current one are the competition's settings.",
        request=RoundPatch,
        responses=responses({200: RoundItem}, *CHANGES, "round_begun", "watermark_away"),
    )
    def patch(self, request: Request, slug: str, number: int) -> Response:
        round = access.round_or_404(mine(request, slug), number)
        organize.change_round(round, by=person(request), **RoundPatch.read(request))
        return Response(RoundItem(_round(round)).data)

    @extend_schema(
        operation_id="remove_round",
        tags=TAGS,
        summary="Remove the last round",
        description="Before it begins, with its files and its solution.",
        responses=responses(
            {204: None}, *CHANGES, "round_begun", "not_the_last_round", "frozen", "watermark_away"
        ),
    )
    def delete(self, request: Request, slug: str, number: int) -> Response:
        round = access.round_or_404(mine(request, slug), number)
        organize.remove_round(round, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class BoardsView(OrganizeView):
    @extend_schema(
        operation_id="add_board",
        tags=TAGS,
        summary="Add a column to a round",
        description="With answers of its own, from the one ledger. A sealed solution is withdrawn.",
        request=BoardBody,
        responses=responses({201: RoundBoard}, *CHANGES, *FIXED),
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        round = access.round_or_404(mine(request, slug), number)
        wished = complete_scoring(Board(round=round), **BoardBody.read(request))
        made = organize.add_board(round, by=person(request), **vars(wished))
        return Response(RoundBoard(made).data, status=status.HTTP_201_CREATED)


class BoardView(OrganizeView):
    @extend_schema(
        operation_id="change_board",
        tags=TAGS,
        summary="Change how a board scores",
        description="As `scoring/` does for the first one.",
        request=ScoringBody,
        responses=responses({200: RoundBoard}, *CHANGES, *FIXED),
    )
    def put(self, request: Request, slug: str, uid: str) -> Response:
        board = access.board_or_404(mine(request, slug), uid)
        wished = complete_scoring(board, **ScoringBody.read(request))
        organize.change_scoring(board, wished, by=person(request))
        return Response(RoundBoard(board).data)

    @extend_schema(
        operation_id="remove_board",
        tags=TAGS,
        summary="Remove a board",
        description="The next one ranks if it was the first; a round keeps one.",
        responses=responses({204: None}, *CHANGES, *FIXED, "last_board"),
    )
    def delete(self, request: Request, slug: str, uid: str) -> Response:
        board = access.board_or_404(mine(request, slug), uid)
        organize.remove_board(board, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


PracticeView = action(
    "change_practice",
    lambda competition, user, is_open: organize.change_practice(
        competition.current_round, is_open=is_open, by=user
    ),
    *("no_practice", "watermark_away"),
    summary="Open practice after the reveal, or end it",
    description="Teams go on submitting, outside the ranking; final places stay.",
    body=PracticeBody,
)


def _round(round: Round) -> Json:
    return {
        **vars(round),
        "phase": round.phase(timezone.now()),
        "is_current": round.number == round.competition.current_round.number,
        "continues": round.continues.number if round.continues else None,
        "has_solution": round.active_holdout is not None,
        "boards": round.boards.all(),
    }
