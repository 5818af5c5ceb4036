"""The end: closing, the final scoring, the reveal, publication."""

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import person
from leaderboard.api.organize.base import (
    CHANGES,
    READS,
    TAGS,
    NoBody,
    OrganizeView,
    action,
    mine,
)
from leaderboard.api.organize.serializers.running import FinalsProgress, Publications, StartBody
from leaderboard.api.paging import Page, SearchQuery
from leaderboard.api.schema import cli, format_of, pages_of, responses
from leaderboard.api.serializers.finals import FinalFacts, FinalItem
from leaderboard.api.views_competitions import CsvRenderer
from leaderboard.errors import Refused
from leaderboard.pipeline import finalize
from leaderboard.pipeline.publish import check_may_publish, publish
from leaderboard.platform.downloads import csv_response
from leaderboard.queries.board_csv import final_csv

CloseView = action(
    "close_competition",
    lambda competition, user: finalize.close_early(competition.current_round, by=user),
    *("not_open", "watermark_away"),
    summary="Close a competition now",
    description="Before its time, for good; what was accepted before is scored.",
    command="holdfast organize close digits",
)
StartView = action(
    "start_finals",
    lambda competition, user, **options: finalize.start_finals(
        competition.current_round, by=user, **options
    ),
    *("not_closed", "not_the_last_round", "submissions_waiting", "submissions_failed"),
    "restore_unsettled",
    *("selections_over_limit", "nothing_to_score", "revision_unchecked", "watermark_away"),
    "paused",
    summary="Start the final scoring",
    description="It ends submitting and choosing for good; workers then measure what was entered.",
    command="holdfast organize finals digits --start",
    body=StartBody,
)
RevealView = action(
    "reveal_finals",
    lambda competition, user: finalize.reveal(competition.current_round, by=user),
    "finals_not_scored",
    summary="Reveal the final scores",
    description="To everybody, for good.",
    command="holdfast organize reveal digits",
)


class ProgressView(OrganizeView):
    @extend_schema(
        operation_id="finals_progress",
        extensions=cli("holdfast organize finals digits"),
        tags=TAGS,
        summary="See how far the end has come",
        description="What waits, what failed, what was entered and what of it is measured.",
        responses=responses({200: FinalsProgress}, *READS, "competition_not_open"),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = mine(request, slug)
        if competition.opened_by_organizer_at is None:
            raise Refused("competition_not_open")
        return Response(FinalsProgress(queries.progress(competition.current_round)).data)


class UnrevealedBoardView(OrganizeView):
    renderer_classes = (JSONRenderer, CsvRenderer)

    @extend_schema(
        operation_id="organized_final",
        tags=TAGS,
        summary="See the final board before it is revealed",
        description=(
            "For owners and editors, once all final scores are there; the same as everybody's "
            "after the reveal. `?format=csv` gives all rows."
        ),
        parameters=[SearchQuery, format_of("csv")],
        responses=responses(
            {
                (200, "application/json"): pages_of(FinalItem, "Unrevealed", facts=FinalFacts()),
                (200, "text/csv"): OpenApiTypes.STR,
            },
            *("invalid", *READS, "finals_not_scored", "not_acceptable"),
        ),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        competition = mine(request, slug)
        round = competition.current_round
        if round.revealed_at is None:
            access.check_right(person(request), competition, access.Right.EDIT)
        if round.finals_scored_at is None:
            raise Refused("finals_not_scored")
        if request.accepted_renderer.format == CsvRenderer.format:
            rows = queries.whole_final_board(round, request.user)
            return csv_response(final_csv(rows), f"{slug}-final.csv")
        page = Page.of(request, SearchQuery)
        board = queries.final_board(round, request.user, **page.ranked)
        return page.answer_ranked(FinalItem, board, facts=FinalFacts(board.facts).data)


class PublicationView(OrganizeView):
    @extend_schema(
        operation_id="organized_publication",
        tags=TAGS,
        summary="See what is published, or what has to happen first",
        description="Of each revision of the solution one file, once workers have written it.",
        responses=responses({200: Publications}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        round = mine(request, slug).current_round
        refused = ""
        try:
            check_may_publish(round)
        except Refused as reason:
            refused = str(reason)
        facts = {
            "refused": refused,
            "ordered_at": round.publication_at,
            "publications": queries.publications(round),
        }
        return Response(Publications(facts).data)

    @extend_schema(
        operation_id="publish",
        extensions=cli("holdfast organize publish digits"),
        tags=TAGS,
        summary="Publish solution and secret",
        description="For good: anybody can then compute every answer again. Workers write it.",
        request=None,
        responses=responses({200: Publications}, *CHANGES, "not_ended", "submissions_waiting"),
    )
    def post(self, request: Request, slug: str) -> Response:
        NoBody.read(request)
        publish(mine(request, slug).current_round, by=person(request))
        return self.get(request, slug)
