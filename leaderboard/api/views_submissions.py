"""A team's submissions: send one, list them, see what became of one."""

from dataclasses import replace

from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, models, queries
from leaderboard.api.base import View, grant, own_team, person, running
from leaderboard.api.paging import Page
from leaderboard.api.schema import (
    DOWNLOAD,
    MEMBERS,
    OPENED,
    RANGE,
    WRITES,
    cli,
    pages_of,
    responses,
)
from leaderboard.api.serializers.submissions import (
    CompareQuery,
    Comparison,
    NewSubmission,
    NoteBody,
    Submission,
    SubmissionBody,
    SubmissionsQuery,
)
from leaderboard.api.serializers.teams import Limits
from leaderboard.log.receipts import receipt_of
from leaderboard.participate.notes import edit_note
from leaderboard.pipeline import intake
from leaderboard.platform.ranges import stored_response
from leaderboard.platform.throttles import CompareThrottle, UploadAddressThrottle, UploadThrottle
from leaderboard.platform.uploads import head_arrived


class SubmissionsView(View):
    parser_classes = (MultiPartParser,)
    bound_methods = (*View.bound_methods, "POST")
    throttle_classes = (*View.throttle_classes, UploadThrottle, UploadAddressThrottle)

    @extend_schema(
        operation_id="submissions",
        extensions=cli("holdfast submissions digits"),
        tags=["submissions"],
        summary="List your team's submissions",
        description=(
            "The newest first. `search` looks in messages, file names, who sent it, numbers and "
            "digests; `campaign` is the name of one."
        ),
        parameters=[SubmissionsQuery],
        responses=responses({200: pages_of(Submission, "Submission")}, "invalid", *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request, SubmissionsQuery)
        asked = SubmissionsQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        team = own_team(request, slug)
        found = queries.own_submissions(
            team,
            search=page.search,
            status=asked.validated_data["status"],
            campaign=asked.validated_data["campaign"],
            order=asked.validated_data["sort"],
        )
        finals = queries.final_entries(team)
        rows = queries.rows_of(found[page.part])
        rows = [replace(each, final=finals.get(each.number)) for each in rows]
        return page.answer(Submission, rows, found.count())

    @extend_schema(
        operation_id="submit",
        extensions=cli("holdfast submit digits -f predictions.csv --wait"),
        tags=["submissions"],
        summary="Submit a prediction file",
        description=(
            "Answers at once; a worker scores the file soon after. Ask for the submission at the "
            "address in the Location header until `is_final`. A file that is wrong becomes "
            "`rejected`, says what is wrong where, and costs nothing. One with the predictions of "
            "an earlier one of your team gets its answer, and takes no quota. `limits` is what is "
            "left. With `gate` no board answers but that gate, by one bit: then `passed`."
        ),
        request={"multipart/form-data": SubmissionBody},
        responses=responses(
            {201: NewSubmission},
            *(*WRITES, *MEMBERS, "deadline_passed", "file_too_large", "unsupported_media_type"),
            *("file_empty", "daily_limit_reached", "total_limit_reached", "too_many_rejected"),
            *("disqualified", "campaign_ended", "campaign_limit_reached", "token_quota_reached"),
            *("gate_closed", "paused", "storage_full"),
        ),
    )
    def post(self, request: Request, slug: str) -> Response:
        team = own_team(request, slug)
        body = SubmissionBody.read(request)
        sent = intake.submit(
            team=team,
            user=person(request),
            upload=body["file"],
            message=body.get("message", ""),
            claimed=body.get("claimed_score"),
            arrived=head_arrived(request.META),
            campaign=body.get("campaign", ""),
            grant=grant(request),
            gate=body.get("gate", ""),
        )
        data = {
            **Submission.show(queries.submission_row(sent)),
            "limits": Limits.show(queries.quota(team)),
            "receipt": receipt_of(sent),
        }
        where = reverse("api-submission", args=(slug, sent.number))
        return Response(
            data,
            status=status.HTTP_201_CREATED,
            headers={"Location": request.build_absolute_uri(where)},
        )


class SubmissionView(View):
    @extend_schema(
        operation_id="submission",
        extensions=cli("holdfast submission digits 1"),
        tags=["submissions"],
        summary="See one submission of your team",
        description="How far it is, what was released, or what is wrong with the file.",
        responses=responses({200: Submission}, "not_authenticated", *OPENED),
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        return _shown(request, _own(request, slug, number))

    @extend_schema(
        operation_id="edit_submission",
        extensions=cli('holdfast submission digits 1 -m "two trees"'),
        tags=["submissions"],
        summary="Edit a submission's message",
        description="The note that your team keeps with it, at any time.",
        request=NoteBody,
        responses=responses({200: Submission}, *WRITES, *OPENED),
    )
    def patch(self, request: Request, slug: str, number: int) -> Response:
        found = _own(request, slug, number)
        edit_note(submission=found, user=person(request), text=NoteBody.read(request)["message"])
        return _shown(request, found)


class SubmissionFileView(View):
    @extend_schema(
        operation_id="submission_file",
        tags=["submissions"],
        summary="Download a file that your team sent",
        description=(
            "As it was uploaded. The ETag is the SHA-256 of the content; a Range header with "
            "If-Range resumes a broken download."
        ),
        parameters=[RANGE],
        responses=responses(DOWNLOAD, "not_authenticated", "range_not_satisfiable", *OPENED),
    )
    def get(self, request: Request, slug: str, number: int) -> HttpResponseBase:
        found = _own(request, slug, number)
        return stored_response(
            dict(request.headers),
            found.file,
            name=found.file_name,
            size=found.size,
            sha256=found.sha256,
        )


class CompareView(View):
    throttle_classes = (*View.throttle_classes, CompareThrottle)

    @extend_schema(
        operation_id="compare_submissions",
        extensions=cli("holdfast compare digits 1 2"),
        tags=["submissions"],
        summary="Compare two submissions of your team",
        description="How many predictions differ, from the two files alone.",
        parameters=[CompareQuery],
        responses=responses({200: Comparison}, "invalid", "not_comparable", *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        team = own_team(request, slug)
        asked = CompareQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = [access.submission_or_404(team, asked.validated_data[name]) for name in "ab"]
        return Response(Comparison(queries.compare(*found)).data)


def _own(request: Request, slug: str, number: int) -> models.Submission:
    membership = access.membership_of(request.user, running(request, slug))
    return access.submission_or_404(membership.team if membership else None, number)


def _shown(request: Request, found: models.Submission) -> Response:
    final = queries.final_entries(found.team).get(found.number)
    wait = queries.wait_of(request.user, found)
    row = replace(queries.submission_row(found), final=final, wait=wait)
    return Response(Submission.show(row))
