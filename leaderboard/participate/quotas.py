"""What a team may still upload: the one rule, as it is enforced and as it is shown."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from leaderboard.errors import Refused
from leaderboard.models import COUNTED, Round, Status, Submission, Team

REJECTED_PER_DAY = 100


@dataclass(frozen=True)
class Quota:
    """What a team may still upload in a round; `total_left` is None where there is no total limit.

    Rejected files cost none of it, but only so many are read in a day.
    """

    daily_limit: int
    daily_left: int
    renews_at: datetime
    total_limit: int | None
    total_left: int | None
    rejected_left: int

    @property
    def left(self) -> int:
        if not self.rejected_left:
            return 0
        return self.daily_left if self.total_left is None else min(self.daily_left, self.total_left)

    def check(self) -> None:
        """Raise Refused where nothing is left, with the limit that was reached."""
        if not self.daily_left:
            raise Refused("daily_limit_reached", limit=self.daily_limit, renews_at=self.renews_at)
        if not self.rejected_left:
            raise Refused("too_many_rejected", limit=REJECTED_PER_DAY, renews_at=self.renews_at)
        if self.total_limit is not None and not self.total_left:
            raise Refused("total_limit_reached", limit=self.total_limit)


def quota(team: Team, round: Round, now: datetime) -> Quota:
    """Return what the team may still upload."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today, counted = Q(created_at__gte=day), Q(status__in=COUNTED)
    used = Submission.objects.filter(team=team, round=round).aggregate(
        today=Count("pk", filter=today & counted),
        all=Count("pk", filter=counted),
        rejected=Count("pk", filter=today & Q(status=Status.REJECTED)),
    )
    total = round.total_limit
    return Quota(
        daily_limit=round.daily_limit,
        daily_left=max(0, round.daily_limit - used["today"]),
        renews_at=day + timedelta(days=1),
        total_limit=total,
        total_left=None if total is None else max(0, total - used["all"]),
        rejected_left=max(0, REJECTED_PER_DAY - used["rejected"]),
    )
