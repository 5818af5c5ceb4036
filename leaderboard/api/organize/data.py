"""What is asked: columns, files, scoring, the sealed solution and its revisions."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, organize, queries
from leaderboard.api.base import RoundQuery, person
from leaderboard.api.organize.base import (
    CHANGES,
    READS,
    TAGS,
    FileView,
    OrganizeView,
    SecretFileView,
    action,
    asked_round,
    mine,
)
from leaderboard.api.organize.serializers.competitions import Solution, sealed
from leaderboard.api.organize.serializers.data import (
    Columns,
    ColumnsBody,
    ProposedColumns,
    PublicFile,
    PublicFileBody,
    Revised,
    RevisionBody,
    RevisionForecast,
    RevisionPreview,
    SampleBody,
    Scoring,
    ScoringBody,
    SolutionBody,
)
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import cli, pages_of, responses
from leaderboard.api.serializers.base import Json
from leaderboard.errors import Refused
from leaderboard.models import Board
from leaderboard.organize import revisions
from leaderboard.organize.plan import foresee_guarantee
from leaderboard.organize.proposals import is_used
from leaderboard.organize.scoring import REGISTRIES, complete_scoring
from leaderboard.queries.guarantees import guarantee
from leaderboard.queries.previews import describe_grid
from scoring import predictions
from scoring.errors import ParameterError
from scoring.metrics import Metric
from scoring.predictions import Schema

FIXED = ("not_a_draft", "frozen", "watermark_away")
UPLOADS = ("wrong_file", "unsupported_media_type", "file_too_large", "storage_full")


class ColumnsView(OrganizeView):
    @extend_schema(
        operation_id="columns",
        tags=TAGS,
        summary="See the columns of a prediction file",
        description="Null in a draft that has none yet.",
        parameters=[RoundQuery],
        responses=responses({200: Columns}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        columns = asked_round(request, slug).schema or None
        return Response(Columns({"columns": columns, "solution_withdrawn": False}).data)

    @extend_schema(
        operation_id="change_columns",
        tags=TAGS,
        summary="Write the columns of a prediction file",
        description="Of a draft. A solution that was sealed for other columns is withdrawn.",
        request=ColumnsBody,
        parameters=[RoundQuery],
        responses=responses({200: Columns}, *CHANGES, *FIXED),
    )
    def put(self, request: Request, slug: str) -> Response:
        round = asked_round(request, slug)
        schema = Schema.from_json(ColumnsBody.read(request))
        withdrew = organize.change_schema(round, schema, by=person(request))
        found = {"columns": schema.to_json(), "solution_withdrawn": withdrew}
        return Response(Columns(found).data)


class ProposedColumnsView(FileView):
    @extend_schema(
        operation_id="propose_columns",
        tags=TAGS,
        summary="Have the columns proposed from a sample",
        description=(
            "Nothing is kept or changed. Where the cells leave open what a column is, `is_open` "
            "says so: look at the guesses, then write the columns."
        ),
        request={"multipart/form-data": SampleBody},
        responses=responses({200: ProposedColumns}, *CHANGES, *UPLOADS),
    )
    def post(self, request: Request, slug: str) -> Response:
        mine(request, slug)
        body = SampleBody.read(request)
        proposal = predictions.propose(body["sample"])
        if more := body.get("more"):
            proposal = predictions.propose_with(proposal, more)
        columns = [
            {
                "name": each.name,
                "column": each.column.to_json(),
                "is_open": each.is_open,
                "guesses": each.guesses,
            }
            for each in proposal.columns
        ]
        found = {"id_column": proposal.id_column, "columns": columns}
        return Response(ProposedColumns(found).data)


class FilesView(FileView):
    @extend_schema(
        operation_id="organized_files",
        tags=TAGS,
        summary="List the files of the data page",
        description="With their roles, sizes and checksums.",
        parameters=[PageQuery, RoundQuery],
        responses=responses({200: pages_of(PublicFile, "PublicFile")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request)
        found = queries.public_files(asked_round(request, slug))
        return page.answer(PublicFile, found[page.part], found.count())

    @extend_schema(
        operation_id="add_file",
        extensions=cli("holdfast organize push FOLDER"),
        tags=TAGS,
        summary="Add a file to the data page",
        description=(
            "It is for participants. What looks like hidden labels is refused (`looks_hidden`) "
            "unless you are `sure`; a sample submission is read first."
        ),
        request={"multipart/form-data": PublicFileBody},
        parameters=[RoundQuery],
        responses=responses({201: PublicFile}, *CHANGES, *UPLOADS, "looks_hidden"),
    )
    def post(self, request: Request, slug: str) -> Response:
        round = asked_round(request, slug)
        entry = organize.add_file(round, by=person(request), **PublicFileBody.read(request))
        return Response(PublicFile(entry).data, status=status.HTTP_201_CREATED)


class PublicFileView(OrganizeView):
    @extend_schema(
        operation_id="remove_file",
        tags=TAGS,
        summary="Remove a file from the data page",
        description="The sample submission only as long as no solution is aligned to it.",
        parameters=[RoundQuery],
        responses=responses({204: None}, *CHANGES),
    )
    def delete(self, request: Request, slug: str, name: str) -> Response:
        round = asked_round(request, slug)
        entry = access.file_or_404(round.competition, name, round)
        organize.remove_file(entry, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ScoringView(OrganizeView):
    @extend_schema(
        operation_id="scoring",
        tags=TAGS,
        summary="See metric and mechanism, and what the data propose",
        description=(
            "Of the first board. Proposals come from the training file and from counts alone; each "
            "has its reason."
        ),
        parameters=[RoundQuery],
        responses=responses({200: Scoring}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(scoring_of(asked_round(request, slug).board))

    @extend_schema(
        operation_id="change_scoring",
        tags=TAGS,
        summary="Choose metric and mechanism",
        description="Of a draft. A solution that was checked against another metric is withdrawn.",
        request=ScoringBody,
        parameters=[RoundQuery],
        responses=responses({200: Scoring}, *CHANGES, *FIXED),
    )
    def put(self, request: Request, slug: str) -> Response:
        board = asked_round(request, slug).board
        wished = complete_scoring(board, **ScoringBody.read(request))
        withdrew = organize.change_scoring(board, wished, by=person(request))
        return Response(scoring_of(asked_round(request, slug).board, withdrew))


UseProposalView = action(
    "use_proposal",
    lambda competition, user: organize.use_proposal(competition.current_round.board, by=user),
    *FIXED,
    summary="Take the proposed values",
    description="All of `scoring/`'s proposals for metric and mechanism, at once.",
)


class SolutionView(SecretFileView):
    @extend_schema(
        operation_id="solution",
        tags=TAGS,
        summary="See what of the solution is public",
        description="Counts and commitments of the one that answers now; null without one.",
        parameters=[RoundQuery],
        responses=responses({200: Solution}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(Solution({"solution": sealed(asked_round(request, slug))}).data)

    @extend_schema(
        operation_id="seal_solution",
        extensions=cli("holdfast organize push FOLDER"),
        tags=TAGS,
        summary="Seal the solution",
        description=(
            "It is checked, sealed from memory, and can't be read back. Once an answer has left "
            "it, `revision/` takes a corrected one."
        ),
        request={"multipart/form-data": SolutionBody},
        parameters=[RoundQuery],
        responses=responses({200: Solution}, *CHANGES, *UPLOADS, "frozen", "watermark_away"),
    )
    def put(self, request: Request, slug: str) -> Response:
        round = asked_round(request, slug)
        file = SolutionBody.read(request)["solution"]
        organize.install_solution(round, file, by=person(request))
        return Response(Solution({"solution": sealed(asked_round(request, slug))}).data)

    @extend_schema(
        operation_id="withdraw_solution",
        tags=TAGS,
        summary="Withdraw the solution",
        description="Of a draft, so that sample and solution can be changed.",
        parameters=[RoundQuery],
        responses=responses({204: None}, *CHANGES, *FIXED),
    )
    def delete(self, request: Request, slug: str) -> Response:
        organize.withdraw_solution(asked_round(request, slug), by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RevisionView(SecretFileView):
    @extend_schema(
        operation_id="revision_forecast",
        tags=TAGS,
        summary="See what a revision would cost",
        description="Whether the solution can be revised now, and what scoring files again costs.",
        responses=responses({200: RevisionForecast}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        round = mine(request, slug).current_round
        now, refused = guarantee(round.board), ""
        try:
            revisions.check_may_revise(round)
        except Refused as reason:
            refused = str(reason)
        facts = {
            "refused": refused,
            "now": now.text if now else "",
            "costs": revisions.forecast(round),
        }
        return Response(RevisionForecast(facts).data)

    @extend_schema(
        operation_id="revise_solution",
        tags=TAGS,
        summary="Revise the solution",
        description=(
            "A corrected solution takes the place of the one that has answered; the ledger carries "
            "on. Preview it first."
        ),
        request={"multipart/form-data": RevisionBody},
        responses=responses(
            {200: Revised},
            *(*CHANGES, *UPLOADS, "nothing_released", "finals_started", "paused"),
            "watermark_away",
        ),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition = mine(request, slug)
        body = RevisionBody.read(request)
        file = body.pop("solution")
        made = revisions.revise_solution(
            competition.current_round, file, by=person(request), **body
        )
        facts = sealed(mine(request, slug).current_round) or {}
        return Response(Revised(facts | {"rescored": made.rescored}).data)


class RevisionPreviewView(SecretFileView):
    @extend_schema(
        operation_id="preview_revision",
        tags=TAGS,
        summary="Preview a revision",
        description="Checks the file as the revision would, and keeps nothing of it.",
        request={"multipart/form-data": SolutionBody},
        responses=responses(
            {200: RevisionPreview},
            *(*CHANGES, *UPLOADS, "nothing_released", "finals_started", "paused"),
        ),
    )
    def post(self, request: Request, slug: str) -> Response:
        round = mine(request, slug).current_round
        file = SolutionBody.read(request)["solution"]
        changes = revisions.preview_revision(round, file, by=person(request))
        return Response(RevisionPreview({"changes": changes}).data)


def scoring_of(board: Board, withdrew: bool = False) -> object:
    """Return how a board scores, and what its data propose."""
    schema, foreseen = queries.schema_of(board.round), foresee_guarantee(board)
    is_draft = board.round.competition.opened_by_organizer_at is None
    facts = {
        **vars(board),
        "grid": describe_grid(board),
        "half_width_at_end": foreseen.text if foreseen else None,
        "proposals": [
            {**vars(each), "is_used": is_used(board, each)}
            for each in (organize.propose(board) if is_draft else ())
        ],
        "metrics": [
            _choice(each)
            for each in REGISTRIES["metric"].values()
            if isinstance(each, Metric) and (schema is None or _fits(each, schema))
        ],
        "mechanisms": [_choice(each) for each in REGISTRIES["mechanism"].values()],
        "solution_withdrawn": withdrew,
    }
    return Scoring(facts).data


def _choice(chosen: Any) -> Json:
    names = [each.name for each in chosen.parameters]
    return {"name": chosen.name, "title": chosen.title, "parameters": names}


def _fits(metric: Metric, schema: Schema) -> bool:
    try:
        metric.check(schema, None, metric.parse({}))
    except ParameterError:
        return False
    return True
