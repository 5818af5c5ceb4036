"""Gates of the current round: what programs may ask, and what answers promise."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import PublicView, running
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import OPENED, cli, pages_of, responses
from leaderboard.api.serializers.gates import GateItem


class GatesView(PublicView):
    @extend_schema(
        operation_id="gates",
        extensions=cli("holdfast gates digits"),
        tags=["gates"],
        summary="List the gates",
        description=(
            "Yes-or-no questions about the private rows, each fixed beforehand. A file is sent to "
            "one as a submission with the field `gate`; one bit comes back, and is counted. A "
            "round that declared none has none."
        ),
        parameters=[PageQuery],
        responses=responses({200: pages_of(GateItem, "Gate")}, "invalid", *OPENED),
    )
    def get(self, request: Request, slug: str) -> Response:
        found = queries.gates(running(request, slug).current_round)
        page = Page.of(request)
        return page.answer(GateItem, found[page.part], len(found))


class GateView(PublicView):
    @extend_schema(
        operation_id="gate",
        tags=["gates"],
        summary="See a gate",
        description="By its name: what it asks, and what a pass and a fail promise now.",
        responses=responses({200: GateItem}, *OPENED),
    )
    def get(self, request: Request, slug: str, gate: str) -> Response:
        found = access.gate_or_404(running(request, slug).current_round, gate)
        return Response(GateItem(queries.shown_gate(found)).data)
