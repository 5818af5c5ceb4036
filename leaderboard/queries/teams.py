"""Teams, their people, and what they may still upload."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from leaderboard.access import Person, may_see_others, may_view_console, membership_of
from leaderboard.errors import Refused
from leaderboard.models import Competition, Invitation, Sanction, Team, User
from leaderboard.participate import membership, quotas


@dataclass(frozen=True)
class Member:
    """A person of a team. `has_page`: the person's page is shown to everybody."""

    username: str
    is_captain: bool
    accepted_at: datetime
    has_page: bool


def quota(team: Team) -> quotas.Quota:
    """Return what the team may still upload today, and in all, in the current round."""
    return quotas.quota(team, team.competition.current_round, timezone.now())


def members(team: Team) -> list[Member]:
    """Return the people of a team."""
    return [
        Member(
            each.user.username,
            each.user_id == team.captain_id,
            each.accepted_at,
            each.user.has_page and each.user.is_active,
        )
        for each in team.memberships.active().select_related("user")
    ]


@dataclass(frozen=True)
class Leaving:
    """What leaving a team would mean: `problem` is why the person can't, or empty.

    `is_bound`: who leaves can join no other team in this round.
    """

    problem: str
    is_bound: bool


def leaving(team: Team, user: User) -> Leaving:
    """Return what it would mean if this member left."""
    try:
        membership.check_may_leave(team, user)
    except Refused as refused:
        return Leaving(refused.detail, membership.binds(team))
    return Leaving("", membership.binds(team))


def invitation_links(team: Team) -> list[Invitation]:
    """Return the invitations by which somebody can still join, newest first."""
    left = team.invitations.filter(expires_at__gt=timezone.now(), user=None)
    return list(left.order_by("-created_at"))


@dataclass(frozen=True)
class MergeRequests:
    """The team that this one asks to take it in, and those that ask the same of this one."""

    asked: Team | None
    asking: tuple[Team, ...]


def merge_requests(team: Team) -> MergeRequests:
    """Return the requests to merge that wait for an answer."""
    asked = Team.objects.filter(merge_requests__team=team).first()
    asking = Team.objects.filter(merge_request__into=team).order_by("merge_request__created_at")
    return MergeRequests(asked, tuple(asking))


def team_rows(
    competition: Competition, user: Person, *, search: str = "", part: slice = slice(None)
) -> tuple[list[Team], int]:
    """Return teams by name, or a part of them, with their `members`, and how many there are.

    The own team alone for somebody who may not know of others; baselines for organizers alone.
    """
    teams = competition.teams.filter(merged_into=None, name__icontains=search)
    if not may_see_others(user, competition):
        mine = membership_of(user, competition)
        teams = teams.filter(pk=mine.team_id) if mine else teams.none()
    elif not may_view_console(user, competition):
        shown = teams.filter(is_baseline=False)
        teams = shown.exclude(pk__in=Sanction.objects.hidden_teams())
    members = Count("memberships", filter=Q(memberships__left_at=None))
    return list(teams.annotate(members=members).order_by("name", "pk")[part]), teams.count()


def my_teams(user: User) -> list[Team]:
    """Return the teams of a person, with their competitions."""
    teams = Team.objects.filter(memberships__user=user, memberships__left_at=None).select_related(
        "competition"
    )
    return list(teams.order_by("competition__slug"))


def my_team(user: Person, competition: Competition) -> Team | None:
    """Return the person's team."""
    membership = membership_of(user, competition)
    return membership.team if membership else None
