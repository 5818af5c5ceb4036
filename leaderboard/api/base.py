"""What every view shares."""

from collections.abc import Sequence

from rest_framework.exceptions import NotAuthenticated
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from leaderboard import access
from leaderboard.api.authentication import ScopeGranted
from leaderboard.api.parsers import BoundedJSONParser
from leaderboard.errors import Refused
from leaderboard.models import Competition, Scope, Team, User


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


def own_team(request: Request, slug: str) -> Team:
    """Return the person's team in a competition. Refused for who has not joined."""
    membership = access.membership_of(request.user, running(request, slug))
    if membership is None:
        raise Refused("not_a_member")
    return membership.team
