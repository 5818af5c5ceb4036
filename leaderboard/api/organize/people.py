"""Who may join, who doesn't count, and what a team is given besides."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access
from leaderboard.api.base import person
from leaderboard.api.organize.base import (
    CHANGES,
    READS,
    TAGS,
    OrganizeView,
    SecretFileView,
    mine,
)
from leaderboard.api.organize.serializers.people import (
    Access,
    AccessBody,
    ClassListBody,
    ClassReport,
    InviteBody,
    Invited,
    MergeBody,
    People,
    QuotaBody,
    SanctionBody,
    TeamSanctionBody,
)
from leaderboard.api.paging import Page, SearchQuery
from leaderboard.api.schema import cli, responses
from leaderboard.models import Competition
from leaderboard.organize import class_list, entry, invitations, sanctions, teams
from leaderboard.queries.people import people

NO_CONTENT = status.HTTP_204_NO_CONTENT


class PeopleView(OrganizeView):
    @extend_schema(
        operation_id="people",
        tags=TAGS,
        summary="List who was invited",
        description="By name; `search` looks in names, addresses and aliases that you may know.",
        parameters=[SearchQuery],
        responses=responses({200: People}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        asked = Page.of(request, SearchQuery)
        found = people(mine(request, slug), person(request), page=asked.number, search=asked.search)
        return Response(People(found).data)

    @extend_schema(
        operation_id="invite",
        extensions=cli("holdfast organize people digits --invite alice@example.org"),
        tags=TAGS,
        summary="Invite people",
        description="By mail, also those without an account, or by the name of one. All or nobody.",
        request=InviteBody,
        responses=responses({200: Invited}, *CHANGES),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), InviteBody.read(request)
        done = invitations.invite(competition, body["people"], by=person(request))
        return Response(Invited(done).data)


class ClassListView(SecretFileView):
    @extend_schema(
        operation_id="class_list",
        extensions=cli("holdfast organize people digits --class-list class.csv"),
        tags=TAGS,
        summary="Invite a class",
        description="From a CSV file, all or nobody. With `dry_run` every problem is listed.",
        request={"multipart/form-data": ClassListBody},
        responses=responses({200: ClassReport}, *CHANGES, "class_list_wrong", "file_too_large"),
    )
    def post(self, request: Request, slug: str) -> Response:
        competition, body = mine(request, slug), ClassListBody.read(request)
        content, user = body["file"].read(class_list.MOST_BYTES + 1), person(request)
        if body.get("dry_run"):
            found = class_list.check_class_list(competition, content, by=user)
        else:
            send = body.get("send", False)
            found = class_list.apply_class_list(competition, content, by=user, send=send)
        return Response(ClassReport(found).data)


class PersonView(OrganizeView):
    @extend_schema(
        operation_id="withdraw_invitation",
        tags=TAGS,
        summary="Take an invitation back",
        description="With its link; who has joined stays in the team.",
        responses=responses({204: None}, *CHANGES),
    )
    def delete(self, request: Request, slug: str, uid: str) -> Response:
        found = access.listed_or_404(mine(request, slug), uid)
        invitations.withdraw(found, by=person(request))
        return Response(status=NO_CONTENT)


class AccessView(OrganizeView):
    @extend_schema(
        operation_id="access",
        tags=TAGS,
        summary="See who else may join",
        description="The join code, and domains of mail addresses.",
        responses=responses({200: Access}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return _access(request, mine(request, slug))

    @extend_schema(
        operation_id="change_access",
        tags=TAGS,
        summary="Change who else may join",
        description="A new join code or none; only some domains of mail addresses.",
        request=AccessBody,
        responses=responses({200: Access}, *CHANGES),
    )
    def patch(self, request: Request, slug: str) -> Response:
        competition, body, user = mine(request, slug), AccessBody.read(request), person(request)
        if "mail_domains" in body:
            entry.change_mail_domains(competition, body["mail_domains"], by=user)
        if body.get("join_code") == "renew":
            entry.renew_join_code(competition, by=user)
        elif body.get("join_code") == "off":
            entry.switch_off_join_code(competition, by=user)
        return _access(request, mine(request, slug))


class TeamSanctionView(OrganizeView):
    @extend_schema(
        operation_id="sanction_team",
        tags=TAGS,
        summary="Disqualify a team, or hide it",
        description="Boards and finals leave it out; its ledger entries stay.",
        request=TeamSanctionBody,
        responses=responses(
            {204: None}, *CHANGES, "sanctioned_already", "final_board_revealed", "watermark_away"
        ),
    )
    def put(self, request: Request, slug: str, uid: str) -> Response:
        team, body = access.team_or_404(mine(request, slug), uid), TeamSanctionBody.read(request)
        sanctions.sanction_team(team, body["kind"], body["reason"], by=person(request))
        return Response(status=NO_CONTENT)

    @extend_schema(
        operation_id="lift_team_sanction",
        tags=TAGS,
        summary="Let a team count again",
        description="Until the final places are revealed.",
        responses=responses(
            {204: None}, *CHANGES, "not_sanctioned", "final_board_revealed", "watermark_away"
        ),
    )
    def delete(self, request: Request, slug: str, uid: str) -> Response:
        sanctions.lift_from_team(access.team_or_404(mine(request, slug), uid), by=person(request))
        return Response(status=NO_CONTENT)


class SubmissionSanctionView(OrganizeView):
    @extend_schema(
        operation_id="sanction_submission",
        tags=TAGS,
        summary="Disqualify a submission",
        description="Boards and finals leave it out; its ledger entry stays.",
        request=SanctionBody,
        responses=responses(
            {204: None}, *CHANGES, "sanctioned_already", "final_board_revealed", "watermark_away"
        ),
    )
    def put(self, request: Request, slug: str, uid: str, number: int) -> Response:
        found = access.entry_or_404(access.team_or_404(mine(request, slug), uid), number)
        reason = SanctionBody.read(request)["reason"]
        sanctions.sanction_submission(found, reason, by=person(request))
        return Response(status=NO_CONTENT)

    @extend_schema(
        operation_id="lift_submission_sanction",
        tags=TAGS,
        summary="Let a submission count again",
        description="Until the final places are revealed.",
        responses=responses(
            {204: None}, *CHANGES, "not_sanctioned", "final_board_revealed", "watermark_away"
        ),
    )
    def delete(self, request: Request, slug: str, uid: str, number: int) -> Response:
        found = access.entry_or_404(access.team_or_404(mine(request, slug), uid), number)
        sanctions.lift_from_submission(found, by=person(request))
        return Response(status=NO_CONTENT)


class QuotaView(OrganizeView):
    @extend_schema(
        operation_id="add_quota",
        tags=TAGS,
        summary="Let a team send more files",
        description="Beside the limits of all teams; the ledger's declared questions stay.",
        request=QuotaBody,
        responses=responses({204: None}, *CHANGES),
    )
    def put(self, request: Request, slug: str, uid: str) -> Response:
        team, body = access.team_or_404(mine(request, slug), uid), QuotaBody.read(request)
        teams.add_quota(team, by=person(request), **body)
        return Response(status=NO_CONTENT)


class MergeView(OrganizeView):
    @extend_schema(
        operation_id="merge_teams",
        tags=TAGS,
        summary="Merge a team into another one",
        description="For good: people, submissions and what both have used.",
        request=MergeBody,
        responses=responses(
            {204: None},
            *(*CHANGES, "not_mergeable", "merge_hidden", "selections_left", "team_full"),
            *("submissions_waiting", "finals_started", "paused", "watermark_away"),
        ),
    )
    def post(self, request: Request, slug: str, uid: str) -> Response:
        competition, body = mine(request, slug), MergeBody.read(request)
        team, into = (access.team_or_404(competition, each) for each in (uid, body["into"]))
        teams.merge_teams(team, into, by=person(request))
        return Response(status=NO_CONTENT)


def _access(request: Request, competition: Competition) -> Response:
    knows = access.may(request.user, competition, access.Right.JUDGE)
    facts = {
        "join_code": competition.join_code if knows else "",
        "mail_domains": list(competition.mail_domains.values_list("domain", flat=True)),
    }
    return Response(Access(facts).data)
