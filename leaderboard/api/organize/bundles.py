"""Competitions as bundles: import, export, clone."""

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
    OrganizeView,
    SecretFileView,
    mine,
    whole,
)
from leaderboard.api.organize.data import UPLOADS
from leaderboard.api.organize.serializers.competitions import Organized
from leaderboard.api.organize.serializers.more import BundleBody, BundlePlan, CloneBody
from leaderboard.api.schema import cli, responses
from leaderboard.organize import bundles


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
