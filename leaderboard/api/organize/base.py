"""What every view for organizers shares."""

from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access
from leaderboard.api.base import RoundQuery, View, person
from leaderboard.api.organize.serializers.competitions import Organized, organized
from leaderboard.api.parsers import TextsParser
from leaderboard.api.schema import WRITES, cli, responses
from leaderboard.api.serializers.base import Body
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round, Scope, User
from leaderboard.organize.people import may_organize_at_all
from leaderboard.platform.uploads import InMemoryOnly
from scoring.errors import HoldfastError, ParameterError, SolutionError

READS = ("not_authenticated", "not_allowed", "not_found")
CHANGES = (*WRITES, "not_allowed", "not_found")
TAGS = ["organize"]


class OrganizeView(View):
    """An operation on a competition, for its organizers in any role; to others it doesn't exist.

    What a role may not do, the action itself refuses.
    """

    parser_classes: Sequence[type[BaseParser]] = (TextsParser,)

    @staticmethod
    def needed_scope(method: str | None) -> Scope | None:
        return Scope.ORGANIZE

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        if not may_organize_at_all(request.user):
            raise Refused("not_allowed", variant="no_role")

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(_refusal(exc) or exc)


class FileView(OrganizeView):
    """An operation that takes files, as a form."""

    parser_classes = (MultiPartParser,)


class SecretFileView(FileView):
    """An operation that takes plain labels: they stay in memory, whatever their size."""

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        request.upload_handlers = [InMemoryOnly(request)]
        return super().initialize_request(request, *args, **kwargs)


class NoBody(Body):
    """Nothing."""


def mine(request: Request, slug: str) -> Competition:
    """Return the competition of this address, if the person runs it in whatever role."""
    return access.console_or_404(request.user, slug)


def asked_round(request: Request, slug: str) -> Round:
    """Return the round that a request means, of a competition that the person runs."""
    competition, query = mine(request, slug), RoundQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    number = query.validated_data.get("round")
    return access.round_or_404(competition, number) if number else competition.current_round


def whole(request: Request, competition: Competition, status: int = 200) -> Response:
    """Answer with all that its organizers may know of a competition."""
    return Response(Organized(organized(competition, person(request))).data, status=status)


def action(
    name: str,
    act: Callable[..., object],
    *codes: str,
    summary: str,
    description: str,
    command: str = "",
    body: type[Body] = NoBody,
) -> type[OrganizeView]:
    """Return the view of a POST that does one thing to a competition, and answers with it.

    act: called with the competition, who asks, and the fields of the body by name.
    """

    class ActionView(OrganizeView):
        @extend_schema(
            operation_id=name,
            extensions=cli(command) if command else None,
            tags=TAGS,
            summary=summary,
            description=description,
            request=None if body is NoBody else body,
            responses=responses({200: Organized}, *CHANGES, *codes),
        )
        def post(self, request: Request, slug: str) -> Response:
            competition: Competition = mine(request, slug)
            user: User = person(request)
            act(competition, user, **body.read(request))
            return whole(request, mine(request, competition.slug))

    return ActionView


def _refusal(error: Exception) -> Refused | None:
    """Return the refusal that an error of the numeric core stands for, for organizers."""
    if isinstance(error, SolutionError):
        problems = [each.render() for each in error.problems]
        return Refused("wrong_file", message=str(error), problems=problems, total=error.total)
    if isinstance(error, ParameterError):
        return Refused("invalid", field=error.field, message=error.message)
    return Refused("invalid", message=str(error)) if isinstance(error, HoldfastError) else None
