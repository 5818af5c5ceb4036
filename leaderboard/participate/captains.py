"""What the captain of a team may do about its members."""

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Competition, EventKind, Phase, Team, User
from leaderboard.notify import events
from leaderboard.participate.membership import check_captain, end_membership


def remove_member(*, team: Team, user: User, name: str) -> None:
    """Take somebody out of the team, as its captain. Raises Refused, also after the deadline."""
    with transaction.atomic():
        team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        check_captain(team, user)
        check_not_closed(team.competition)
        member = _member(team, name)
        if member == user:
            raise Refused("captain_stays")
        end_membership(team, member, removed_by=user)


def hand_over(*, team: Team, user: User, name: str) -> None:
    """Make another member the captain. Raises Refused."""
    with transaction.atomic():
        locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        check_captain(locked, user)
        heir = _member(locked, name)
        if heir != user:
            Team.objects.filter(pk=team.pk).update(captain=heir)
            subjects = {"team": team.uid, "user": heir.uid}
            events.record(
                team.competition, EventKind.CAPTAIN_CHANGED, actor=user, subjects=subjects
            )
    team.refresh_from_db()


def check_not_closed(competition: Competition) -> None:
    """Raise Refused where the round has closed: its teams, and who gets their places, are fixed."""
    round = competition.current_round
    if round.phase(timezone.now()) is Phase.CLOSED:
        raise Refused("deadline_passed", variant="teams", closes_at=round.closes_at)


def _member(team: Team, name: str) -> User:
    found = team.memberships.active().filter(user__username__iexact=name).select_related("user")
    if (one := found.first()) is None:
        raise Refused("invalid", field="username", variant="no_such_member", names=name[:150])
    return one.user
