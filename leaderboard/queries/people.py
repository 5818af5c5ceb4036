"""The people of a competition as its organizers see them, and what holds against teams."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from leaderboard.access import Person, Right, may, may_see_others
from leaderboard.errors import Refused
from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import terms_of
from leaderboard.models import (
    Competition,
    Invitee,
    MailState,
    Membership,
    Organizer,
    Round,
    Sanction,
    SanctionKind,
    Team,
    User,
)
from leaderboard.participate import membership, mergers, quotas
from leaderboard.participate.admission import check_admitted
from leaderboard.platform.statements import prepared
from leaderboard.queries.paging import PAGE_ROWS
from leaderboard.queries.teams import quota

_ACCOUNTS: Final = 200
_DISQUALIFIED: Final = 100


@dataclass(frozen=True)
class Listed:
    """Somebody of the list. Name and address are empty for who may not know them."""

    uid: str
    name: str
    email: str
    alias: str
    account: str
    team: str
    team_uid: str
    mail: MailState
    mail_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Return whether nobody has taken the invitation."""
        return not self.account


@dataclass(frozen=True)
class PeoplePage:
    """A page of the list, and how many there are of what; `accounts` were let in by name or code.

    `rows` of these `total`, `page` of `pages`; `everybody` counts the list without the search.
    """

    rows: tuple[Listed, ...]
    page: int
    pages: int
    total: int
    search: str
    everybody: int
    taken: int
    failed: int
    accounts: tuple[User, ...]
    account_count: int


@dataclass(frozen=True)
class TeamQuota:
    """What a team may still send, and what it uses of the declared questions of its ledger.

    `limit` is None where none was declared; it is the team's part where each has its own.
    """

    quota: quotas.Quota
    extra_daily: int
    extra_total: int
    asked: int
    asked_by_team: int
    limit: int | None
    by_team: bool


@dataclass(frozen=True)
class MergePreview:
    """What becomes of two teams that are merged; `problem` is why they can't be, or empty."""

    team: Team
    into: Team
    members: int
    team_size: int
    submissions: int
    daily_left: int
    total_left: int | None
    problem: str


def people(
    competition: Competition, user: Person, *, page: int = 1, search: str = ""
) -> PeoplePage:
    """Return a page of those who were invited, by name."""
    knows = may(user, competition, Right.JUDGE)
    found = Q(alias__icontains=search) | Q(user__username__icontains=search)
    if knows:
        found |= Q(name__icontains=search) | Q(email__icontains=search)
    everybody = competition.invitees.all()
    counts = everybody.aggregate(
        taken=Count("pk", filter=Q(user__isnull=False)),
        failed=Count("pk", filter=Q(mail=MailState.FAILED)),
        everybody=Count("pk"),
    )
    rows = everybody.filter(found) if search else everybody
    total = rows.count()
    pages = max(1, math.ceil(total / PAGE_ROWS))
    page = min(max(1, page), pages)
    order = ("name", "email", "pk") if knows else ("alias", "pk")
    part = rows.select_related("user").order_by(*order)[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    others = competition.invited.exclude(
        pk__in=everybody.filter(user__isnull=False).values("user")
    ).order_by("username")
    return PeoplePage(
        rows=_listed(competition, list(part), knows=knows),
        page=page,
        pages=pages,
        total=total,
        search=search,
        accounts=tuple(others[:_ACCOUNTS]),
        account_count=others.count(),
        **counts,
    )


def _listed(competition: Competition, rows: list[Invitee], *, knows: bool) -> tuple[Listed, ...]:
    joined = Membership.objects.active().filter(
        competition=competition, user__in=[row.user_id for row in rows if row.user_id]
    )
    teams = {row.user_id: row.team for row in joined.select_related("team")}
    return tuple(
        Listed(
            uid=row.uid,
            name=row.name if knows else "",
            email=row.email if knows else "",
            alias=row.alias,
            account=row.user.username if row.user else "",
            team=teams[row.user_id].name if row.user_id in teams else "",
            team_uid=teams[row.user_id].uid if row.user_id in teams else "",
            mail=MailState(row.mail),
            mail_at=row.mail_at,
        )
        for row in rows
    )


def organizers(competition: Competition) -> list[Organizer]:
    """Return who runs the competition, in their roles."""
    return list(competition.roles.select_related("user").order_by("created_at", "pk"))


def mail_domains(competition: Competition) -> list[str]:
    """Return the domains whose confirmed addresses may join; none: all may."""
    return list(competition.mail_domains.values_list("domain", flat=True))


def why_not_admitted(competition: Competition, user: Person) -> Refused | None:
    """Return why the person may not join yet, as far as organizers ask for more."""
    if not isinstance(user, User):
        return None
    try:
        check_admitted(competition, user)
    except Refused as refused:
        return refused
    return None


def sanction_of(team: Team) -> Sanction | None:
    """Return what holds against the team as a whole."""
    return team.sanctions.at().of_teams().first()


def left_out(team: Team) -> dict[int, str]:
    """Return the numbers of the team's submissions that don't count, with the reasons."""
    return dict(_left_out(team=team.pk))


@prepared
def _left_out(team: int) -> QuerySet[Sanction, tuple[int, str]]:
    held = Sanction.objects.at().of_submissions().filter(submission__team=team)
    return held.values_list("submission__number", "reason")


def disqualified(round: Round, user: Person) -> list[Sanction]:
    """Return the disqualifications that everybody may read; none while boards are hidden."""
    if not may_see_others(user, round.competition):
        return []
    held = Sanction.objects.at(round.revealed_at).of_teams()
    named = held.filter(team__competition=round.competition, kind=SanctionKind.DISQUALIFIED)
    return list(named.select_related("team").order_by("team__name")[:_DISQUALIFIED])


def team_quota(team: Team) -> TeamQuota:
    """Return what a team may send in the current round."""
    round = team.competition.current_round
    ledger = round.ledger
    terms = None if ledger is None else terms_of(ledger)
    return TeamQuota(
        quota=quota(team),
        extra_daily=team.extra_daily,
        extra_total=team.extra_total,
        asked=0 if ledger is None else read_account(ledger, team).count.numbered,
        asked_by_team=team.releases.filter(
            holdout__ledger=ledger, repeat_of=None, holdout__ledger__isnull=False
        ).count(),
        limit=None if terms is None else terms.account_limit,
        by_team=ledger is not None and ledger.by_team,
    )


def merge_preview(team: Team, into: Team, *, by_teams: bool = False) -> MergePreview:
    """Return what a merger would do. Rounds that have ended stay as they are.

    by_teams: it is the teams' own wish, for which there are more rules.
    """
    competition, now = team.competition, timezone.now()
    round, problem = competition.current_round, ""
    try:
        if by_teams:
            mergers.check(team, into)
        else:
            membership.check_may_merge(competition, team, into)
    except Refused as refused:
        problem = str(refused)
    mine, theirs = quotas.quota(team, round, now), quotas.quota(into, round, now)
    used_today = mine.daily_limit - mine.daily_left
    used = None if mine.total_limit is None else mine.total_limit - (mine.total_left or 0)
    return MergePreview(
        team=team,
        into=into,
        members=Membership.objects.active().filter(team__in=(team, into)).count(),
        team_size=competition.team_size,
        submissions=team.submissions.count(),
        daily_left=max(0, theirs.daily_left - used_today),
        total_left=(None if theirs.total_left is None else max(0, theirs.total_left - (used or 0))),
        problem=problem,
    )


def mergeable(team: Team) -> list[Team]:
    """Return the other teams of the competition, by name."""
    others = team.competition.teams.filter(merged_into=None).exclude(pk=team.pk)
    return list(others.order_by("name", "pk"))
