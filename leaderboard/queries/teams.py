"""Teams, their people, and what they may still upload."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from leaderboard.access import Person, may_see_others, may_view_console, membership_of
from leaderboard.models import Competition, Invitation, Sanction, Team, User
from leaderboard.participate import quotas


@dataclass(frozen=True)
class Member:
    """A person of a team."""

    username: str
    is_captain: bool
    accepted_at: datetime


def quota(team: Team) -> quotas.Quota:
    """Return what the team may still upload today, and in all, in the current round."""
    return quotas.quota(team, team.competition.current_round, timezone.now())


def members(team: Team) -> list[Member]:
    """Return the people of a team."""
    return [
        Member(each.user.username, each.user_id == team.captain_id, each.accepted_at)
        for each in team.memberships.active().select_related("user")
    ]


def invitation_links(team: Team) -> list[Invitation]:
    """Return the links that still let somebody join, newest first."""
    return list(team.invitations.filter(expires_at__gt=timezone.now()).order_by("-created_at"))


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
