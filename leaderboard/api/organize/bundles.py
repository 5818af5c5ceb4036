"""Competitions as files: bundles, clones, archives, moves."""

from django.http import FileResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.api.base import person
from leaderboard.api.organize.base import (
    CHANGES,
    READS,
    TAGS,
    FileView,
    OrganizeView,
    SecretFileView,
    mine,
    whole,
)
from leaderboard.api.organize.data import UPLOADS
from leaderboard.api.organize.serializers.competitions import Organized
from leaderboard.api.organize.serializers.more import (
    ArchiveFileBody,
    ArchiveQuery,
    BundleBody,
    BundlePlan,
    CloneBody,
    MoveBody,
    Moves,
    VaultKey,
)
from leaderboard.api.schema import cli, responses
from leaderboard.errors import Refused
from leaderboard.models import Competition
from leaderboard.operate import archives
from leaderboard.organize import bundles, moves


class BundlesView(SecretFileView):
    @extend_schema(
        operation_id="import_bundle",
        extensions=cli("holdfast organize import FILE"),
        tags=TAGS,
        summary="Make a draft of a bundle",
        description="All of it or nothing. `plan/` says first what can't be carried over.",
        request={"multipart/form-data": BundleBody},
        responses=responses({201: Organized}, *CHANGES, *UPLOADS),
    )
    def post(self, request: Request) -> Response:
        body = BundleBody.read(request)
        made = bundles.import_bundle(body.pop("bundle"), by=person(request), **body)
        return whole(request, made, status.HTTP_201_CREATED)


class BundlePlanView(SecretFileView):
    @extend_schema(
        operation_id="plan_bundle",
        extensions=cli("holdfast organize import FILE --dry-run"),
        tags=TAGS,
        summary="See what an import would make",
        description="Nothing is made or kept.",
        request={"multipart/form-data": BundleBody},
        responses=responses({200: BundlePlan}, *CHANGES, *UPLOADS),
    )
    def post(self, request: Request) -> Response:
        body = BundleBody.read(request)
        plan = bundles.plan_bundle(body["bundle"], by=person(request), slug=body.get("slug", ""))
        return Response(BundlePlan(plan).data)


class BundleView(OrganizeView):
    @extend_schema(
        operation_id="export_bundle",
        extensions=cli("holdfast organize export digits"),
        tags=TAGS,
        summary="Download the competition as a bundle",
        description=(
            "Settings, columns, scoring, texts and public files; the solution is sealed, and not "
            "in it. It is an event."
        ),
        request=None,
        responses=responses({(200, "application/zip"): OpenApiTypes.BINARY}, *READS),
    )
    def post(self, request: Request, slug: str) -> HttpResponseBase:
        file = bundles.export(mine(request, slug), by=person(request))
        return FileResponse(
            file, as_attachment=True, filename=f"{slug}.zip", content_type="application/zip"
        )


class CloneView(OrganizeView):
    @extend_schema(
        operation_id="clone_competition",
        extensions=cli("holdfast organize clone digits --slug digits-2"),
        tags=TAGS,
        summary="Make a draft like this competition",
        description=(
            "With its settings, columns, scoring, texts and files. Its solution is uploaded again: "
            "it gets a secret and a ledger of its own."
        ),
        request=CloneBody,
        responses=responses({201: Organized}, *CHANGES),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), CloneBody.read(request)
        made = bundles.clone(competition, slug=body["slug"], by=person(request))
        return whole(request, made, status.HTTP_201_CREATED)


class ArchivesView(FileView):
    @extend_schema(
        operation_id="vault_key",
        tags=TAGS,
        summary="See what secrets are sealed to that move here",
        description="The public key of this installation's vault.",
        responses=responses({200: VaultKey}, "not_authenticated", "not_allowed"),
    )
    def get(self, request: Request) -> Response:
        return Response({"vault_key": moves.own_key()})

    @extend_schema(
        operation_id="import_archive",
        extensions=cli("holdfast organize import ARCHIVE"),
        tags=TAGS,
        summary="Import an archive",
        description=(
            "All of it or nothing, and only what verifies. It is a copy that answers nobody, until "
            "a worker has opened the secrets that came along. Names and mail addresses in it are "
            "believed only where an operator imports it."
        ),
        request={"multipart/form-data": ArchiveFileBody},
        responses=responses({201: Organized}, *CHANGES, *UPLOADS),
    )
    def post(self, request: Request) -> Response:
        body = ArchiveFileBody.read(request)
        made = archives.import_archive(body.pop("archive"), by=person(request), **body)
        return whole(request, made, status.HTTP_201_CREATED)


class ArchiveView(OrganizeView):
    @extend_schema(
        operation_id="export_archive",
        extensions=cli("holdfast organize export digits --archive"),
        tags=TAGS,
        summary="Download the competition as an archive",
        description=(
            "With teams, submissions and the ledger, for another installation; for owners. Once "
            "the competition was moved, its secrets are in it, sealed. It is an event."
        ),
        parameters=[ArchiveQuery],
        request=None,
        responses=responses(
            {(200, "application/zip"): OpenApiTypes.BINARY}, *CHANGES, "not_movable"
        ),
    )
    def post(self, request: Request, slug: str) -> HttpResponseBase:
        competition, asked = mine(request, slug), ArchiveQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        user, with_people = person(request), asked.validated_data["with_people"]
        file = archives.export_archive(competition, by=user, with_people=with_people)
        name = f"{slug}-archive.zip"
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


class MoveView(OrganizeView):
    @extend_schema(
        operation_id="move",
        tags=TAGS,
        summary="See whether the competition has moved, and could",
        description="Here or away. While a worker seals or opens the secrets, ask again.",
        responses=responses({200: Moves}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return _moves(mine(request, slug))

    @extend_schema(
        operation_id="move_competition",
        tags=TAGS,
        summary="Move the competition to another installation",
        description=(
            "Its ledger is closed here for good, and a worker seals its secrets to the other "
            "vault. Then download the archive and import it there. It can't be undone."
        ),
        request=MoveBody,
        responses=responses({202: Moves}, *CHANGES, "not_movable", "submissions_waiting"),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), MoveBody.read(request)
        moves.move(competition, body["destination"], by=person(request))
        return _moves(mine(request, slug), status.HTTP_202_ACCEPTED)


def _moves(competition: Competition, code: int = 200) -> Response:
    obstacle = ""
    try:
        moves.check_may_move(competition)
    except Refused as refused:
        obstacle = str(refused)
    found = {"move": competition.handovers.first(), "obstacle": obstacle}
    return Response(Moves(found).data, status=code)
