"""What every view shares."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from knox.models import AuthToken
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from leaderboard import access, queries
from leaderboard.api.authentication import ScopeGranted
from leaderboard.api.parsers import BoundedJSONParser
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, Scope, Team, TokenGrant, User
from leaderboard.participate import tokens


class View(APIView):
    """An operation; what it answers is for this person alone, and never older than now."""

    parser_classes: Sequence[type[BaseParser]] = (BoundedJSONParser,)
    # What a token that is bound to a competition may do here, where the address is below that.
    bound_methods: Sequence[str] = SAFE_METHODS
    # Whether it may do the same where the address is none of a competition.
    bound_anywhere = False

    @staticmethod
    def needed_scope(method: str | None) -> Scope | None:
        """Return what a token has to be made for; None: any token will do."""
        return Scope.READ if method in SAFE_METHODS else Scope.SUBMIT

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Describe an operation as JSON, whatever format its answers are asked for in."""
        if request.method == "OPTIONS":
            return JSONRenderer(), JSONRenderer.media_type
        return super().perform_content_negotiation(request, force)

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


def grant(request: Request) -> TokenGrant | None:
    """Return what the request's token is for; None for a session."""
    token = request.auth
    return tokens.stored_grant(token) if isinstance(token, AuthToken) else None


def bound_to(request: Request) -> Competition | None:
    """Return the one competition that the request's token is for; None for any."""
    found = grant(request)
    return found.competition if found else None


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
