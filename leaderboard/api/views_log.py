"""The public log: its head, entries and proofs, and what witnesses hand in."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import PublicView, running
from leaderboard.api.schema import OPENED, cli, responses
from leaderboard.api.serializers.log import (
    Consistency,
    ConsistencyQuery,
    Entries,
    EntriesQuery,
    Inclusion,
    InclusionQuery,
    Log,
    WitnessBody,
    Witnessed,
)
from leaderboard.errors import Refused
from leaderboard.log import heads
from leaderboard.models import Competition
from scoring.verification.differences import Differs

_SEEN = (*OPENED, "hidden_until_end")


class _LogView(PublicView):
    """What is shown of a log, to whoever may know of all teams."""

    @staticmethod
    def competition(request: Request, slug: str) -> Competition:
        """Return the competition. Raises Http404 and Refused."""
        found = running(request, slug)
        access.check_sees_others(request.user, found)
        return found


class LogView(_LogView):
    @extend_schema(
        operation_id="log",
        extensions=cli("holdfast verify digits"),
        tags=["competitions"],
        summary="See the newest head of the public log",
        description=(
            "The signed head (a checkpoint of C2SP), the keys that sign heads and receipts, heads "
            "with signatures of witnesses, and within how many seconds what was accepted is in "
            "the log."
        ),
        responses=responses({200: Log}, *_SEEN),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(Log(queries.log(self.competition(request, slug))).data)


class LogEntriesView(_LogView):
    @extend_schema(
        operation_id="log_entries",
        tags=["competitions"],
        summary="Read entries of the public log",
        description=(
            "In order, at most 1,000. The hash of an entry is that of its document as JSON with "
            "sorted keys and no spaces. `opening` has the name of a team with the salt of its "
            "commitment, as long as there is one."
        ),
        parameters=[EntriesQuery],
        responses=responses({200: Entries}, "invalid", *_SEEN),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = self.competition(request, slug)
        start = _asked(EntriesQuery, request)["from"]
        return Response({"entries": queries.log_entries(competition, start)})


class LogInclusionView(_LogView):
    @extend_schema(
        operation_id="log_inclusion",
        tags=["competitions"],
        summary="Prove that an entry is in the public log",
        description=(
            "By its index, or by `team` and `submission` as a receipt names them. `proof` leads "
            "from its hash to the root of the newest head (RFC 6962), each hash in base64."
        ),
        parameters=[InclusionQuery],
        responses=responses({200: Inclusion}, "invalid", *_SEEN),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = self.competition(request, slug)
        found = queries.log_inclusion(competition, **_asked(InclusionQuery, request))
        return Response({**found, "proof": _encoded(found["proof"])})


class LogConsistencyView(_LogView):
    @extend_schema(
        operation_id="log_consistency",
        tags=["competitions"],
        summary="Prove that the public log only grew",
        description=(
            "Between two sizes. `proof` leads from the root of the first to that of the second "
            "(RFC 6962), each hash in base64."
        ),
        parameters=[ConsistencyQuery],
        responses=responses({200: Consistency}, "invalid", *_SEEN),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = self.competition(request, slug)
        found = queries.log_consistency(competition, **_asked(ConsistencyQuery, request))
        return Response({"proof": _encoded(found)})


class LogWitnessView(_LogView):
    @extend_schema(
        operation_id="witness",
        extensions=cli("holdfast witness ADDRESS --cosign KEY"),
        tags=["competitions"],
        summary="Hand in a witness's signature",
        description=(
            "A head of the last day with a cosignature of C2SP, by one of the keys that this site "
            "knows (WITNESSES)."
        ),
        request=WitnessBody,
        responses=responses({200: Witnessed}, "invalid", "malformed", *_SEEN),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition = self.competition(request, slug)
        try:
            head = heads.cosign(competition, WitnessBody.read(request)["note"])
        except Differs as differs:
            raise Refused("invalid", field="note", message=str(differs)) from None
        return Response({"size": head.size, "witnesses": head.witnesses})


def _asked(query: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    asked = query(data=request.query_params)
    asked.is_valid(raise_exception=True)
    return dict(asked.validated_data)


def _encoded(hashes: Iterable[bytes]) -> list[str]:
    return [b64encode(each).decode() for each in hashes]
