"""The end: what a team enters, and the final board."""

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import queries
from leaderboard.api.base import (
    PublicView,
    RoundQuery,
    View,
    asked_board,
    own_team,
    person,
    running,
)
from leaderboard.api.paging import Page, SearchQuery
from leaderboard.api.schema import MEMBERS, OPENED, WRITES, cli, format_of, pages_of, responses
from leaderboard.api.serializers.finals import (
    FinalFacts,
    FinalItem,
    Finals,
    FinalsBody,
    FinalTests,
)
from leaderboard.api.views_competitions import CsvRenderer
from leaderboard.errors import Refused
from leaderboard.participate import selection
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.board_csv import final_csv


class FinalsView(View):
    @extend_schema(
        operation_id="finals",
        extensions=cli("holdfast finals digits"),
        tags=["finals"],
        summary="See what your team enters for the final scores",
        description=(
            "Where nothing is chosen, the best released score is used, without one the best public "
            "score, else the last answer; where fewer are chosen than allowed, only these count."
        ),
        responses=responses({200: Finals}, *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(Finals(queries.choice(own_team(request, slug))).data)

    @extend_schema(
        operation_id="choose_finals",
        extensions=cli("holdfast finals digits 3 7"),
        tags=["finals"],
        summary="Choose what your team enters",
        description=(
            "Replaces the whole choice, or changes nothing. Any member may, from the first "
            "release until the organizer starts the finals, also after closing."
        ),
        request=FinalsBody,
        responses=responses(
            {200: Finals},
            *(*WRITES, *MEMBERS, "finals_started", "too_many_finals", "not_released", "paused"),
        ),
    )
    def put(self, request: Request, slug: str) -> Response:
        team = own_team(request, slug)
        numbers = FinalsBody.read(request)["numbers"]
        selection.select(team=team, user=person(request), numbers=numbers)
        return Response(Finals(queries.choice(team)).data)


class FinalBoardView(PublicView):
    renderer_classes = (JSONRenderer, CsvRenderer)

    @extend_schema(
        operation_id="final",
        extensions=cli("holdfast leaderboard digits --final"),
        tags=["finals"],
        summary="See the final board",
        description=(
            "Exact scores, once the organizer has revealed them, with both ranks, the places that "
            "each team could have, and intervals: of each score alone, and simultaneous ones. "
            "`me` is your team's row wherever it stands. "
            "`?format=csv` (or `Accept: text/csv`) gives all rows."
        ),
        parameters=[SearchQuery, RoundQuery, format_of("csv")],
        responses=responses(
            {
                (200, "application/json"): pages_of(
                    FinalItem, "Final", me=FinalItem(allow_null=True), facts=FinalFacts()
                ),
                (200, "text/csv"): OpenApiTypes.STR,
            },
            "invalid",
            *OPENED,
            "finals_not_revealed",
            "not_acceptable",
        ),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        round = asked_board(request, running(request, slug)).round
        if round.revealed_at is None:
            raise Refused("finals_not_revealed")
        if request.accepted_renderer.format == CsvRenderer.format:
            whole = queries.whole_final_board(round, request.user)
            return csv_response(final_csv(whole), f"{slug}-final.csv")
        page = Page.of(request, SearchQuery)
        board = queries.final_board(round, request.user, **page.ranked)
        return page.answer_ranked(FinalItem, board, facts=FinalFacts(board.facts).data)


class FinalTestsView(PublicView):
    @extend_schema(
        operation_id="final_tests",
        tags=["finals"],
        summary="See the tests that places rest on",
        description=(
            "What the tests of all pairs of final entries found, to be checked: from the rejected "
            "pairs and their p-values every place follows. 404 as long as there is no final board, "
            "and where no tests were possible."
        ),
        parameters=[RoundQuery],
        responses=responses(
            {200: FinalTests}, "invalid", *OPENED, "finals_not_revealed", "finals_not_tested"
        ),
    )
    def get(self, request: Request, slug: str) -> Response:
        round = asked_board(request, running(request, slug)).round
        if round.revealed_at is None:
            raise Refused("finals_not_revealed")
        document = queries.final_tests(round)
        if document is None:
            raise Refused("finals_not_tested")
        return Response(FinalTests(document).data)
