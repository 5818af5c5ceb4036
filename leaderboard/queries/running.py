"""How a competition runs, for its organizers: the queue, uploads, budgets, unusual teams.

All of it is made of plain rows, in a constant number of queries.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from django.db.models import Count, F, Max, Min, Q
from django.db.models.functions import TruncHour
from django.utils import timezone

from leaderboard.models import (
    Competition,
    Membership,
    Round,
    Sketch,
    Status,
    Submission,
    Team,
    TeamState,
)
from scoring.predictions.sketch import find_near

SHOWN: Final = 10
HOURS: Final = 72
_REJECTED_FROM: Final = 10  # files; from so many on, and more than were taken, a team is named
_NEAR: Final = 0.25  # of the usual distance of two teams' files: a sixteenth of what differs
_COMPARED: Final = 2_000  # teams; the comparison grows with their square
_AT_ONCE: Final = timedelta(minutes=10)
_BULK_FROM: Final = 5  # accounts


@dataclass(frozen=True)
class Queue:
    """What has no answer yet, and since when the oldest file that no worker has taken waits."""

    queued: int
    scoring: int
    since: datetime | None

    @property
    def is_stuck(self) -> bool:
        """Return whether files wait longer than they should."""
        return is_stuck(self.since)


@dataclass(frozen=True)
class Hour:
    """Files of an hour, in UTC: those that were taken, and those that were rejected."""

    begins: datetime
    taken: int
    rejected: int


@dataclass(frozen=True)
class Rejections:
    """A team with many rejected files."""

    team: Team
    rejected: int
    taken: int


@dataclass(frozen=True)
class Pair:
    """Two teams whose last files are nearly the same; `share` of the usual distance."""

    first: Team
    second: Team
    share: float


@dataclass(frozen=True)
class Bulk:
    """Accounts that were made together: within minutes, or with mail addresses of one domain."""

    accounts: int
    domain: str
    first: datetime
    last: datetime
    teams: tuple[Team, ...]


@dataclass(frozen=True)
class Unusual:
    """What an organizer may want to look at. None of it proves anything."""

    rejections: tuple[Rejections, ...]
    pairs: tuple[Pair, ...]
    bulk: tuple[Bulk, ...]


def queue(competition: Competition) -> Queue:
    """Return what waits for an answer in the competition."""
    found = Submission.objects.filter(
        team__competition=competition, status__in=(Status.QUEUED, Status.SCORING)
    ).aggregate(
        queued=Count("pk", filter=Q(status=Status.QUEUED)),
        scoring=Count("pk", filter=Q(status=Status.SCORING)),
        since=Min("created_at", filter=Q(status=Status.QUEUED)),
    )
    return Queue(**found)


def is_stuck(since: datetime | None) -> bool:
    """Return whether a file that waits since then waits longer than it should."""
    return since is not None and timezone.now() - since > _AT_ONCE


def hours(competition: Competition) -> tuple[Hour, ...]:
    """Return the files of the last days, hour by hour, up to this one."""
    last = timezone.now().replace(minute=0, second=0, microsecond=0)
    first = last - timedelta(hours=HOURS - 1)
    rows = (
        Submission.objects.filter(team__competition=competition, created_at__gte=first)
        .order_by()
        .annotate(hour=TruncHour("created_at"))
        .values("hour")
        .annotate(
            rejected=Count("pk", filter=Q(status=Status.REJECTED)),
            taken=Count("pk", filter=~Q(status=Status.REJECTED)),
        )
    )
    found = {row["hour"]: (row["taken"], row["rejected"]) for row in rows}
    times = (first + timedelta(hours=number) for number in range(HOURS))
    return tuple(Hour(at, *found.get(at, (0, 0))) for at in times)


def exhausted_teams(round: Round) -> tuple[tuple[Team, ...], int]:
    """Return teams that have taken all of their share of the budget, some of them, and how many."""
    spent = TeamState.objects.filter(
        board=round.board, holdout__retired_at=None, share_left=0, team__merged_into=None
    )
    states = spent.select_related("team").order_by("team__name")
    return tuple(state.team for state in states[:SHOWN]), states.count()


def unusual(competition: Competition) -> Unusual:
    """Return the teams that an organizer may want to look at, the most unusual first."""
    return Unusual(
        rejections=_rejections(competition),
        pairs=_pairs(competition),
        bulk=_bulk(competition),
    )


def _rejections(competition: Competition) -> tuple[Rejections, ...]:
    rejected = Count("submissions", filter=Q(submissions__status=Status.REJECTED))
    teams = competition.teams.annotate(
        rejected=rejected, taken=Count("submissions") - rejected
    ).filter(rejected__gte=_REJECTED_FROM, rejected__gt=F("taken"))
    return tuple(
        Rejections(team, team.rejected, team.taken) for team in teams.order_by("-rejected")[:SHOWN]
    )


def _pairs(competition: Competition) -> tuple[Pair, ...]:
    """Compare the last parsed file of each team in the current round by its sketch."""
    sketched = Submission.objects.filter(
        round=competition.current_round, team__is_baseline=False, sketch__isnull=False
    )
    last = sketched.order_by().values("team").annotate(last=Max("pk")).order_by("-last")
    rows = Sketch.objects.filter(pk__in=[row["last"] for row in last[:_COMPARED]])
    found = list(rows.select_related("submission__team").order_by("pk"))
    if not found:
        return ()
    sums = np.stack([np.frombuffer(each.sums, "<f4") for each in found])
    teams = [each.submission.team for each in found]
    near = find_near(sums, _NEAR)[:SHOWN]
    return tuple(Pair(teams[one], teams[other], share) for one, other, share in near)


def _bulk(competition: Competition) -> tuple[Bulk, ...]:
    members = (
        Membership.objects.active()
        .filter(competition=competition, team__is_baseline=False)
        # A class that was invited signs up together, as it should.
        .exclude(user__in=competition.invitees.filter(user__isnull=False).values("user"))
        .select_related("user", "team")
        .order_by("user__date_joined", "pk")
    )
    rows = list(members)
    domains = Counter(_domain(row) for row in rows)
    by_domain = [
        [row for row in rows if _domain(row) == domain]
        for domain, count in domains.items()
        if domain and count >= _BULK_FROM and count < len(rows)
    ]
    found = [_as_bulk(group) for group in (*_at_once(rows), *by_domain)]
    return tuple(sorted(found, key=lambda bulk: -bulk.accounts)[:SHOWN])


def _domain(row: Membership) -> str:
    return row.user.email.rpartition("@")[2].lower()


def _at_once(rows: Sequence[Membership]) -> Iterable[list[Membership]]:
    """Return runs of accounts, in the order of their making, that all began within minutes."""
    run: list[Membership] = []
    for row in rows:
        if run and row.user.date_joined - run[0].user.date_joined > _AT_ONCE:
            if len(run) >= _BULK_FROM:
                yield run
            run = []
        run.append(row)
    if len(run) >= _BULK_FROM:
        yield run


def _as_bulk(rows: Sequence[Membership]) -> Bulk:
    domains = {_domain(row) for row in rows}
    teams = {row.team.pk: row.team for row in rows}
    return Bulk(
        accounts=len(rows),
        domain=domains.pop() if len(domains) == 1 else "",
        first=rows[0].user.date_joined,
        last=rows[-1].user.date_joined,
        teams=tuple(teams.values())[:SHOWN],
    )
