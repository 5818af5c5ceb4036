"""Teams, their people, and what they may still upload."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from leaderboard.access import Person, membership_of
from leaderboard.models import (
    COUNTED,
    Competition,
    Team,
    User,
)


@dataclass(frozen=True)
class Quota:
    """What a team may still upload. `total_left` is None where there is no limit in all."""

    daily_limit: int
    daily_left: int
    renews_at: datetime
    total_limit: int | None
    total_left: int | None

    @property
    def left(self) -> int:
        return self.daily_left if self.total_left is None else min(self.daily_left, self.total_left)


@dataclass(frozen=True)
class TeamRow:
    """A team as everyone sees it."""

    name: str
    members: int
    is_baseline: bool
    is_verified: bool
    created_at: datetime


@dataclass(frozen=True)
class Member:
    """A person of a team."""

    username: str
    is_captain: bool
    accepted_at: datetime


@dataclass(frozen=True)
class InvitationLink:
    """A link that lets others join a team."""

    token: str
    expires_at: datetime


def quota(team: Team) -> Quota:
    """What the team may still upload today and in all."""
    competition = team.competition
    now = timezone.now()
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    counts = team.submissions.filter(status__in=COUNTED).aggregate(
        today=Count("pk", filter=Q(created_at__gte=day)), all=Count("pk")
    )
    total = competition.total_limit
    return Quota(
        daily_limit=competition.daily_limit,
        daily_left=max(0, competition.daily_limit - counts["today"]),
        renews_at=day + timedelta(days=1),
        total_limit=total,
        total_left=None if total is None else max(0, total - counts["all"]),
    )


def members(team: Team) -> list[Member]:
    """The people of a team."""
    return [
        Member(each.user.username, each.user_id == team.captain_id, each.accepted_at)
        for each in team.memberships.select_related("user")
    ]


def invitation_links(team: Team) -> list[InvitationLink]:
    """The links that still let somebody join, newest first."""
    valid = team.invitations.filter(expires_at__gt=timezone.now()).order_by("-created_at")
    return [InvitationLink(each.token, each.expires_at) for each in valid]


def team_rows(
    competition: Competition, *, search: str = "", part: slice = slice(None)
) -> tuple[list[TeamRow], int]:
    """Teams by name, or a part of them, and how many there are."""
    teams = competition.teams.filter(name__icontains=search)
    shown = teams.annotate(people=Count("memberships")).order_by("name", "pk")[part]
    rows = [
        TeamRow(each.name, each.people, each.is_baseline, each.is_verified, each.created_at)
        for each in shown
    ]
    return rows, teams.count()


def my_teams(user: User) -> list[Team]:
    """The teams of a person, with their competitions."""
    teams = Team.objects.filter(memberships__user=user).select_related("competition")
    return list(teams.order_by("competition__slug"))


def my_team(user: Person, competition: Competition) -> Team | None:
    """The person's team."""
    membership = membership_of(user, competition)
    return membership.team if membership else None
