"""Teams and people as others see them, and what members and captains do about a team."""

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access, queries
from leaderboard.api.base import PublicView, View, own_team, person
from leaderboard.api.schema import MEMBERS, WRITES, cli, responses
from leaderboard.api.serializers.teams import (
    InvitationItem,
    MemberBody,
    MergerDetail,
    Mergers,
    PersonDetail,
    TeamInviteBody,
    TeamProfileDetail,
)
from leaderboard.models import Team
from leaderboard.participate import captains, membership, mergers
from leaderboard.queries.people import merge_preview

CAPTAINS = (*WRITES, *MEMBERS, "captain_only")
MERGING = (
    *CAPTAINS,
    *("not_mergeable", "merge_over_quota", "merge_hidden", "selections_left", "team_full"),
    *("submissions_waiting", "finals_started", "deadline_passed", "paused"),
)


class TeamPageView(PublicView):
    @extend_schema(
        operation_id="team_page",
        extensions=cli("holdfast team digits --show UID"),
        tags=["teams"],
        summary="See a team",
        description=(
            "By its permanent id, which rows of boards carry: members, entries, places. 404 as "
            "well for one that you may not know of. One that was merged is answered as what it is "
            "a part of."
        ),
        responses=responses({200: TeamProfileDetail}, "not_found"),
    )
    def get(self, request: Request, uid: str) -> Response:
        found = access.shown_team_or_404(request.user, uid)
        profile = queries.team_profile(found.merged_into or found, request.user)
        return Response(TeamProfileDetail(profile).data)


class PersonView(PublicView):
    @extend_schema(
        operation_id="person",
        tags=["teams"],
        summary="See a person",
        description=(
            "The competitions that the person takes part in, as far as you may know of them, and "
            "the final places of their teams. 404 as well for who doesn't want to be shown."
        ),
        responses=responses({200: PersonDetail}, "not_found"),
    )
    def get(self, request: Request, username: str) -> Response:
        profile = queries.person_profile(access.person_or_404(username), request.user)
        return Response(PersonDetail(profile).data)


class LeaveView(View):
    @extend_schema(
        operation_id="leave_team",
        extensions=cli("holdfast team digits --leave"),
        tags=["teams"],
        summary="Leave your team",
        description=(
            "Whoever leaves a team that has submitted can come back to it, and joins no other in "
            "the same round."
        ),
        request=None,
        responses=responses({204: None}, *WRITES, *MEMBERS, "captain_stays", "last_member_stays"),
    )
    def post(self, request: Request, slug: str) -> Response:
        membership.leave(team=own_team(request, slug), user=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemberView(View):
    @extend_schema(
        operation_id="remove_member",
        extensions=cli("holdfast team digits --remove NAME"),
        tags=["teams"],
        summary="Remove a member from your team",
        description="The captain may, until the deadline. It binds them as if they had left.",
        responses=responses({204: None}, *CAPTAINS, "captain_stays", "deadline_passed"),
    )
    def delete(self, request: Request, slug: str, username: str) -> Response:
        team = own_team(request, slug)
        captains.remove_member(team=team, user=person(request), name=username)
        return Response(status=status.HTTP_204_NO_CONTENT)


class CaptainView(View):
    @extend_schema(
        operation_id="hand_over_team",
        extensions=cli("holdfast team digits --captain NAME"),
        tags=["teams"],
        summary="Make another member the captain",
        request=MemberBody,
        responses=responses({204: None}, *CAPTAINS),
    )
    def put(self, request: Request, slug: str) -> Response:
        team, name = own_team(request, slug), MemberBody.read(request)["username"]
        captains.hand_over(team=team, user=person(request), name=name)
        return Response(status=status.HTTP_204_NO_CONTENT)


class InvitationsView(View):
    bound_methods = ()  # by a link whoever holds such a token could join with another account

    @extend_schema(
        operation_id="team_invitations",
        tags=["teams"],
        summary="List the invitations to your team",
        description="Those by which somebody can still join. For the captain.",
        responses=responses({200: InvitationItem(many=True)}, *MEMBERS, "captain_only"),
    )
    def get(self, request: Request, slug: str) -> Response:
        team = own_team(request, slug)
        membership.check_captain(team, person(request))
        return Response(InvitationItem(queries.invitation_links(team), many=True).data)

    @extend_schema(
        operation_id="invite_to_team",
        extensions=cli("holdfast team digits --invite --email MAIL"),
        tags=["teams"],
        summary="Invite somebody to your team",
        description=(
            "Makes a link, by which several can join; or mails one for one person to `email`, at "
            "most 20 a day."
        ),
        request=TeamInviteBody,
        responses=responses({201: InvitationItem}, *CAPTAINS, "team_full"),
    )
    def post(self, request: Request, slug: str) -> Response:
        team, email = own_team(request, slug), TeamInviteBody.read(request).get("email", "")
        made = membership.invite(team=team, user=person(request), email=email)
        return Response(InvitationItem(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="withdraw_team_invitations",
        extensions=cli("holdfast team digits --withdraw"),
        tags=["teams"],
        summary="End all invitations to your team",
        responses=responses({204: None}, *CAPTAINS),
    )
    def delete(self, request: Request, slug: str) -> Response:
        membership.withdraw_invitations(team=own_team(request, slug), user=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MergersView(View):
    @extend_schema(
        operation_id="mergers",
        tags=["teams"],
        summary="See who asks whom to merge",
        responses=responses({200: Mergers}, *MEMBERS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(Mergers(queries.merge_requests(own_team(request, slug))).data)


class MergerView(View):
    @extend_schema(
        operation_id="merger",
        extensions=cli("holdfast team digits --merge UID"),
        tags=["teams"],
        summary="See what merging with a team would do",
        description=(
            "Your team becomes a part of the other one; where the other one has asked, it becomes "
            "a part of yours. `problem` says why they can't be merged now."
        ),
        responses=responses({200: MergerDetail}, *MEMBERS),
    )
    def get(self, request: Request, slug: str, uid: str) -> Response:
        mine, other = self._pair(request, slug, uid)
        asks_us = other in queries.merge_requests(mine).asking
        pair = (other, mine) if asks_us else (mine, other)
        return Response(MergerDetail(merge_preview(*pair, by_teams=True)).data)

    @extend_schema(
        operation_id="ask_to_merge",
        extensions=cli("holdfast team digits --merge UID --yes"),
        tags=["teams"],
        summary="Ask a team to take yours in",
        description="Its captain decides. Look at what it would do first: it can't be undone.",
        request=None,
        responses=responses({201: Mergers}, *MERGING, "merge_asked"),
    )
    def post(self, request: Request, slug: str, uid: str) -> Response:
        mine, other = self._pair(request, slug, uid)
        mergers.ask(team=mine, into=other, user=person(request))
        waiting = Mergers(queries.merge_requests(mine)).data
        return Response(waiting, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="accept_merger",
        extensions=cli("holdfast team digits --accept UID --yes"),
        tags=["teams"],
        summary="Take in a team that asks",
        description="For good: its members, submissions and what it used are your team's then.",
        request=None,
        responses=responses({200: Mergers}, *MERGING, "no_merge_request", "watermark_away"),
    )
    def put(self, request: Request, slug: str, uid: str) -> Response:
        mine, other = self._pair(request, slug, uid)
        mergers.accept(team=mine, asking=other, user=person(request))
        return Response(Mergers(queries.merge_requests(mine)).data)

    @extend_schema(
        operation_id="drop_merger",
        extensions=cli("holdfast team digits --drop UID"),
        tags=["teams"],
        summary="Take your request back, or decline theirs",
        responses=responses({204: None}, *CAPTAINS, "no_merge_request"),
    )
    def delete(self, request: Request, slug: str, uid: str) -> Response:
        mine, other = self._pair(request, slug, uid)
        mergers.drop(team=mine, other=other, user=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _pair(self, request: Request, slug: str, uid: str) -> tuple[Team, Team]:
        mine = own_team(request, slug)
        other = access.shown_team_or_404(request.user, uid, mine.competition)
        if other == mine:
            raise Http404("This is your own team.")
        return mine, other
