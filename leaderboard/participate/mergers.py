"""Teams that ask others to merge: the one that asks becomes a part of the one that accepts."""

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Audience, EventKind, MergeRequest, Team, User
from leaderboard.notify import events
from leaderboard.participate import quotas
from leaderboard.participate.captains import check_not_closed
from leaderboard.participate.membership import check_captain, check_may_merge, merge


def ask(*, team: Team, into: Team, user: User) -> None:
    """Ask another team to take this one in, as its captain. Raises Refused."""
    with transaction.atomic():
        team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        check_captain(team, user)
        check(team, into)
        if MergeRequest.objects.filter(team=team).exists():
            raise Refused("merge_asked")
        MergeRequest.objects.create(team=team, into=into)
        _record(EventKind.MERGE_ASKED, of=team, to=into, by=user)


def drop(*, team: Team, other: Team, user: User) -> None:
    """Take back what this team asked the other one, or decline what that asks. Raises Refused."""
    with transaction.atomic():
        locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        check_captain(locked, user)
        declined = MergeRequest.objects.filter(team=other, into=team)
        waiting = MergeRequest.objects.filter(team=team, into=other) | declined
        if not waiting.exists():
            raise Refused("no_merge_request")
        if declined.exists():
            _record(EventKind.MERGE_DECLINED, of=team, to=other, by=user)
        waiting.delete()


def accept(*, team: Team, asking: Team, user: User) -> None:
    """Make the team that asks a part of this one, for good, as the captain. Raises Refused."""

    def check_asked(asking: Team, team: Team) -> None:
        check_captain(team, user)
        if not MergeRequest.objects.filter(team=asking, into=team).exists():
            raise Refused("no_merge_request")
        check(asking, team)

    check_captain(team, user)
    merge(team=asking, into=team, by=user, check=check_asked)


def check(team: Team, into: Team) -> None:
    """Raise Refused where the one team can't become a part of the other by their own wish.

    Organizers may also merge teams after the deadline, and teams that have used more together than
    one team may: these two rules they see to themselves.
    """
    competition = team.competition
    if into.competition_id != competition.pk or into.is_baseline or team.is_baseline:
        raise Refused("not_mergeable")
    check_not_closed(competition)
    try:
        check_may_merge(competition, team, into)
    except Refused as refused:
        if refused.facts.get("variant") == "sanctioned":  # of which team is nobody's business
            raise Refused("not_mergeable", variant="by_organizers") from None
        raise
    _check_quota(team, into)


def _check_quota(team: Team, into: Team) -> None:
    """Raise Refused where both have used more than one team may: splitting up gains nothing."""
    round, now = team.competition.current_round, timezone.now()
    mine, theirs = (quotas.quota(each, round, now) for each in (team, into))
    today = sum(each.daily_limit - each.daily_left for each in (mine, theirs))
    if today > theirs.daily_limit:
        raise Refused("merge_over_quota", variant="today", used=today, limit=theirs.daily_limit)
    if mine.total_limit is not None and theirs.total_limit is not None:
        used = mine.total_limit - (mine.total_left or 0)
        used += theirs.total_limit - (theirs.total_left or 0)
        if used > theirs.total_limit:
            raise Refused("merge_over_quota", used=used, limit=theirs.total_limit)


def _record(kind: EventKind, *, of: Team, to: Team, by: User) -> None:
    """Record it for the team that it was addressed to."""
    subjects = {"team": to.uid, "from": of.uid}
    events.record(to.competition, kind, actor=by, audience=Audience.TEAM, subjects=subjects)
