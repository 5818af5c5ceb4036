"""Competitions, their files, boards, teams and ledgers."""

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import (
    BoardQuery,
    PublicView,
    RoundQuery,
    View,
    asked_board,
    bound_to,
    own_team,
    person,
    running,
)
from leaderboard.api.paging import Page, PageQuery, SearchQuery
from leaderboard.api.schema import (
    DOWNLOAD,
    MEMBERS,
    OPENED,
    RANGE,
    WRITES,
    cli,
    format_of,
    pages_of,
    responses,
)
from leaderboard.api.serializers.boards import (
    BoardContenders,
    BoardGuarantee,
    BoardItem,
    LedgerEntry,
    PublicationItem,
)
from leaderboard.api.serializers.competitions import CompetitionDetail, CompetitionItem, FileItem
from leaderboard.api.serializers.teams import JoinBody, TeamBody, TeamDetail, TeamItem
from leaderboard.errors import Refused
from leaderboard.models import Team
from leaderboard.participate import membership
from leaderboard.platform.downloads import JSON_LINES, csv_response, jsonl_response
from leaderboard.platform.ranges import file_response
from leaderboard.queries.board_csv import board_csv
from scoring import metrics


class CompetitionsView(PublicView):
    bound_anywhere = True

    @extend_schema(
        operation_id="competitions",
        extensions=cli("holdfast competitions list"),
        tags=["competitions"],
        summary="List the competitions that you may see",
        description="Open ones first, by closing time. `search` looks in names and titles.",
        parameters=[SearchQuery],
        responses=responses(
            {200: pages_of(CompetitionItem, "Competition")}, "invalid", "not_found"
        ),
    )
    def get(self, request: Request) -> Response:
        page = Page.of(request, SearchQuery)
        word, bound = page.search.casefold(), bound_to(request)
        cards = [
            card
            for card in queries.competition_cards(request.user)
            if (word in card.slug.casefold() or word in card.title.casefold())
            and (bound is None or card.slug == bound.slug)
        ]
        return page.answer(CompetitionItem, cards[page.part], len(cards))


class CompetitionView(PublicView):
    @extend_schema(
        operation_id="competition",
        tags=["competitions"],
        summary="See one competition",
        description="Texts, times, limits, the columns of a prediction file, and the mechanism.",
        responses=responses({200: CompetitionDetail}, "not_found"),
    )
    def get(self, request: Request, slug: str) -> Response:
        competition = access.competition_or_404(request.user, slug)
        round = competition.current_round
        metric = metrics.METRICS.get(round.board.metric)
        facts = {
            **vars(round),
            **vars(competition),
            "schema": round.schema or None,
            "phase": round.phase(timezone.now()),
            "metric": metric.title if metric else "",
            "metric_name": round.board.metric,
            "metric_parameters": round.board.metric_parameters,
            "direction": metric.direction if metric else "maximize",
            "mechanism": queries.mechanism_facts(round.board, request.user),
            "revision": queries.revision(round, request.user),
            "rounds": queries.listed_boards(competition),
            "paused": bool(round.paused_for),
            "joined": access.membership_of(request.user, competition) is not None,
        }
        return Response(CompetitionDetail(facts).data)


class FilesView(PublicView):
    @extend_schema(
        operation_id="files",
        extensions=cli("holdfast files digits"),
        tags=["competitions"],
        summary="List a competition's files",
        description="Names, sizes and checksums. To download one, accept the rules first.",
        responses=responses({200: pages_of(FileItem, "File")}, "invalid", "not_found"),
        parameters=[PageQuery],
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request)
        competition = access.competition_or_404(request.user, slug)
        found = queries.public_files(competition.current_round)
        return page.answer(FileItem, found[page.part], found.count())


class FileView(PublicView):
    @extend_schema(
        operation_id="file",
        auth=[{"token": []}, {"cookieAuth": []}],  # type: ignore[list-item]  # its type is wrong
        extensions=cli("holdfast download digits -f train.csv"),
        tags=["competitions"],
        summary="Download a file",
        description=(
            "For those who accepted the rules. The ETag is the SHA-256 of the content; a Range "
            "header with If-Range resumes a broken download."
        ),
        parameters=[RANGE],
        responses=responses(
            DOWNLOAD,
            "not_authenticated",
            "rules_not_accepted",
            "not_found",
            "range_not_satisfiable",
        ),
    )
    def get(self, request: Request, slug: str, name: str) -> HttpResponseBase:
        competition = access.competition_or_404(request.user, slug)
        entry = access.file_or_404(competition, name)
        if not access.may_download(request.user, competition):
            person(request)
            raise Refused("rules_not_accepted")
        return file_response(
            dict(request.headers),
            entry.file.open("rb"),
            name=entry.name,
            size=entry.size,
            sha256=entry.sha256,
        )


class CsvRenderer(BaseRenderer):
    """Lets a request ask for CSV; the view itself writes it."""

    media_type = "text/csv"
    format = "csv"


class BoardView(PublicView):
    renderer_classes = (JSONRenderer, CsvRenderer)

    @extend_schema(
        operation_id="leaderboard",
        extensions=cli("holdfast leaderboard digits"),
        tags=["competitions"],
        summary="See the leaderboard",
        description=(
            "Released values only, ranked by them; ties go to who was first. Rows of baselines "
            "stand between the teams', without a rank, and are not counted. `me` is your team's "
            "row wherever it stands, `guarantee` what the board promises of the leading score: "
            "null for metrics that are no means, and for boards without scores; `contenders` are "
            "the teams that could be first: null where no test rules any out. `?format=csv` "
            "(or `Accept: text/csv`) gives all rows. A board that is hidden until the end has your "
            "own row alone, without a rank. `rounds` of the competition lists rounds and boards."
        ),
        parameters=[SearchQuery, BoardQuery, format_of("csv")],
        responses=responses(
            {
                (200, "application/json"): pages_of(
                    BoardItem,
                    "Board",
                    me=BoardItem(allow_null=True),
                    guarantee=BoardGuarantee(allow_null=True),
                    contenders=BoardContenders(allow_null=True),
                ),
                (200, "text/csv"): OpenApiTypes.STR,
            },
            "invalid",
            *OPENED,
            "not_acceptable",
        ),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        competition = running(request, slug)
        board = asked_board(request, competition)
        if request.accepted_renderer.format == CsvRenderer.format:
            whole = queries.whole_board(board, request.user)
            return csv_response(board_csv(whole), f"{slug}-leaderboard.csv")
        page = Page.of(request, SearchQuery)
        member = access.membership_of(request.user, competition)
        found = queries.guarantee(board, member.team if member else None)
        first = queries.contenders(board, request.user)
        return page.answer_ranked(
            BoardItem,
            queries.board(board, request.user, **page.ranked),
            guarantee=None if found is None else BoardGuarantee(found).data,
            contenders=None if first is None else BoardContenders(first).data,
        )


class JoinView(View):
    @extend_schema(
        operation_id="join",
        extensions=cli("holdfast join digits"),
        tags=["teams"],
        summary="Join a competition",
        description=(
            "Accepts the rules and makes a team, of which you are the captain, or joins the team "
            "that sent an invitation."
        ),
        request=JoinBody,
        responses=responses(
            {201: TeamDetail},
            *(*WRITES, *OPENED, "deadline_passed", "already_joined", "paused", "team_name_taken"),
            *("team_full", "competition_full", "invitation_expired", "left_a_team", "team_merged"),
            *("not_admitted", "invitation_used", "email_not_verified"),
        ),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, user = running(request, slug), person(request)
        body = JoinBody.read(request)
        accepts = body["accept_rules"]
        if token := body.get("invitation"):
            invitation = access.invitation_or_404(competition, token)
            team = membership.join_team(invitation=invitation, user=user, accept_rules=accepts)
        else:
            name = body.get("team_name") or user.username
            team = membership.join(
                competition=competition, user=user, accept_rules=accepts, team_name=name
            )
        return Response(_team(team), status=status.HTTP_201_CREATED)


class TeamView(View):
    @extend_schema(
        operation_id="team",
        extensions=cli("holdfast team digits"),
        tags=["teams"],
        summary="See your team",
        description="Its members and what it may still submit.",
        responses=responses({200: TeamDetail}, *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(_team(own_team(request, slug)))

    @extend_schema(
        operation_id="rename_team",
        extensions=cli("holdfast team digits --rename NAME"),
        tags=["teams"],
        summary="Rename your team",
        description="The captain may. The name is all of a team that can be written.",
        request=TeamBody,
        responses=responses(
            {200: TeamDetail}, *WRITES, *MEMBERS, "captain_only", "team_name_taken"
        ),
    )
    def patch(self, request: Request, slug: str) -> Response:
        team = own_team(request, slug)
        name = TeamBody.read(request)["name"]
        return Response(_team(membership.rename_team(team=team, user=person(request), name=name)))


class TeamsView(PublicView):
    @extend_schema(
        operation_id="teams",
        tags=["teams"],
        summary="List the teams of a competition",
        description=(
            "By name. `search` looks in the names. As long as the board is hidden until the end, "
            "your own team alone."
        ),
        parameters=[SearchQuery],
        responses=responses({200: pages_of(TeamItem, "Team")}, "invalid", *OPENED),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request, SearchQuery)
        rows, total = queries.team_rows(
            running(request, slug), request.user, search=page.search, part=page.part
        )
        return page.answer(TeamItem, rows, total)


class JsonLinesRenderer(BaseRenderer):
    """Lets a request ask for JSON Lines; the view itself writes them."""

    media_type = JSON_LINES
    format = "jsonl"


class LedgerView(PublicView):
    renderer_classes = (JSONRenderer, JsonLinesRenderer)

    @extend_schema(
        operation_id="ledger",
        extensions=cli("holdfast verify digits"),
        tags=["competitions"],
        summary="Read the public ledger",
        description=(
            "Every answer that left the holdout, the newest first. `hash` is the SHA-256 of the "
            "entry without it and without `version`, as JSON with sorted keys and no spaces; each "
            "entry holds the hash of the one before, over revisions of the solution too, which "
            "are entries of their own and only in the whole ledger. `?format=jsonl` (or `Accept: "
            "application/jsonl`) gives all of it, the oldest first, behind a header for each "
            "version of the solution: a file to keep and to verify."
        ),
        parameters=[PageQuery, RoundQuery, format_of("jsonl")],
        responses=responses(
            {
                (200, "application/json"): pages_of(LedgerEntry, "Ledger"),
                (200, JSON_LINES): OpenApiTypes.STR,
            },
            "invalid",
            *OPENED,
            "hidden_until_end",
            "not_acceptable",
        ),
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        competition = running(request, slug)
        access.check_sees_others(request.user, competition)
        round = asked_board(request, competition).round
        if request.accepted_renderer.format == JsonLinesRenderer.format:
            lines = queries.ledger_lines(round.ledger) if round.ledger else iter(())
            return jsonl_response(lines, f"{slug}-ledger.jsonl")
        page = Page.of(request)
        found = queries.ledger(round, request.user, page=page.number, page_rows=page.size)
        return page.answer(LedgerEntry, found.entries, found.total)


class PublicationsView(PublicView):
    @extend_schema(
        operation_id="publications",
        tags=["competitions"],
        summary="List what was published after the end",
        description=(
            "For each version of the solution one file, once the organizer has published them: "
            "labels, noise secret, their salts, and what each answer was drawn from."
        ),
        parameters=[PageQuery, RoundQuery],
        responses=responses({200: pages_of(PublicationItem, "Publication")}, "invalid", *OPENED),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request)
        found = queries.publications(asked_board(request, running(request, slug)).round)
        return page.answer(PublicationItem, found[page.part], len(found))


class PublicationView(PublicView):
    @extend_schema(
        operation_id="publication",
        extensions=cli("holdfast verify digits"),
        tags=["competitions"],
        summary="Download a publication",
        description=(
            "A zip archive; docs/verification.md describes it. `number` is the version of the "
            "solution. The ETag is the SHA-256 of the content; a Range header with If-Range "
            "resumes a broken download."
        ),
        parameters=[RANGE, RoundQuery],
        responses=responses(DOWNLOAD, "invalid", *OPENED, "range_not_satisfiable"),
    )
    def get(self, request: Request, slug: str, number: int) -> HttpResponseBase:
        competition = running(request, slug)
        round = asked_board(request, competition).round
        holdout = access.published_holdout_or_404(round, number)
        found = queries.publication(holdout)
        return file_response(
            dict(request.headers),
            holdout.publication.open("rb"),
            name=f"{competition.slug}-publication-{number}.zip",
            size=found.size,
            sha256=found.sha256,
        )


def _team(team: Team) -> object:
    seen_here = {
        "competition": team.competition.slug,
        "members": queries.members(team),
        "limits": queries.quota(team),
    }
    return TeamDetail(vars(team) | seen_here).data
