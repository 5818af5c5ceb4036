"""A team's submissions: send one, list them, see what became of one."""

from functools import partial

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import View, own_team, person, running
from leaderboard.api.paging import Page, SubmissionQuery
from leaderboard.api.schema import MEMBERS, OPENED, WRITES, cli, pages_of, responses
from leaderboard.api.serializers.submissions import NewSubmission, Submission, SubmissionBody
from leaderboard.api.serializers.teams import Limits
from leaderboard.pipeline import intake
from leaderboard.platform.throttles import UploadThrottle


class SubmissionsView(View):
    parser_classes = (MultiPartParser,)
    throttle_classes = (*View.throttle_classes, UploadThrottle)

    @extend_schema(
        operation_id="submissions",
        extensions=cli("holdfast submissions digits"),
        tags=["submissions"],
        summary="List your team's submissions",
        description="The newest first.",
        parameters=[SubmissionQuery],
        responses=responses({200: pages_of(Submission, "Submission")}, "invalid", *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page = Page.of(request, SubmissionQuery)
        team = own_team(request, slug)
        same = {"sha256": page.sha256} if page.sha256 else {}
        found = queries.submission_rows(team, page.part, **same)
        item = partial(Submission, context={"finals": queries.final_entries(team)})
        return page.answer(item, found, team.submissions.filter(**same).count())

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
            "left."
        ),
        request={"multipart/form-data": SubmissionBody},
        responses=responses(
            {201: NewSubmission},
            *(*WRITES, *MEMBERS, "deadline_passed", "file_too_large", "unsupported_media_type"),
            *("file_empty", "daily_limit_reached", "total_limit_reached", "too_many_rejected"),
            "disqualified",
            *("paused", "storage_full"),
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
        )
        row = Submission(queries.submission_row(sent), context={"finals": {}})
        data = {**row.data, "limits": Limits(queries.quota(team)).data}
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
        found = access.submission_or_404(request.user, running(request, slug), number)
        finals = queries.final_entries(found.team)
        row = Submission(queries.submission_row(found), context={"finals": finals})
        return Response(row.data)
