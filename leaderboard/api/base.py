"""What every view shares."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from leaderboard import access, queries
from leaderboard.api.authentication import ScopeGranted
from leaderboard.api.parsers import BoundedJSONParser
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, Scope, Team, User


class View(APIView):
    """An operation; what it answers is for this person alone, and never older than now."""

    parser_classes: Sequence[type[BaseParser]] = (BoundedJSONParser,)

    @staticmethod
    def needed_scope(method: str | None) -> Scope | None:
        """Return what a token has to be made for; None: any token will do."""
        return Scope.READ if method in SAFE_METHODS else Scope.SUBMIT

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {**super().default_response_headers, "Cache-Control": "private, no-cache"}


class PublicView(View):
    """An operation that needs no account."""

    permission_classes = (AllowAny, ScopeGranted)


def person(request: Request) -> User:
    """Return the signed-in person of a view that lets in nobody else."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def running(request: Request, slug: str) -> Competition:
    """Return the competition, which must have been opened: a draft has no board, teams or
    submissions."""
    competition = access.competition_or_404(request.user, slug)
    if competition.opened_by_organizer_at is None:
        raise Refused("competition_not_open")
    return competition


class RoundQuery(serializers.Serializer[Any]):
    """Which round is meant."""

    round = serializers.IntegerField(
        min_value=1, max_value=10**6, required=False, help_text="The current one if left out."
    )


class BoardQuery(RoundQuery):
    """Which board of a round is meant."""

    board = serializers.IntegerField(
        min_value=0,
        max_value=10**6,
        required=False,
        help_text="Its `position`: the one that ranks if left out.",
    )


def asked_board(request: Request, competition: Competition) -> Board:
    """Return the board that a request means, of the rounds that everybody may look at.

    Raises Http404 and ValidationError.
    """
    query = BoardQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    asked = query.validated_data
    begun = {each.number: each for each in queries.begun_rounds(competition)}
    round = begun.get(asked.get("round", competition.current_round.number))
    if round is None:
        raise Http404("There is no such round.")
    boards = {each.position: each for each in round.boards.all()}
    board = boards.get(asked["board"]) if "board" in asked else round.board
    if board is None:
        raise Http404("There is no such board.")
    return board


def own_team(request: Request, slug: str) -> Team:
    """Return the person's team in a competition. Refused for who has not joined."""
    membership = access.membership_of(request.user, running(request, slug))
    if membership is None:
        raise Refused("not_a_member")
    return membership.team
