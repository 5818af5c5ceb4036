"""What a team may still upload: the one rule, as it is enforced and as it is shown.

A campaign and a bound token may have a limit of their own beside it, and count by the same rule.

A file that repeats an earlier one takes no unit. One of the same bytes as a file that has an
answer, or waits for one, is known at intake; others give their unit back with their answer. What
was taken for a repeat and is none after all needs a unit before it is answered, so that a team
never has more answers than its quota.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q, QuerySet

from leaderboard.errors import Refused
from leaderboard.models import COUNTED, Campaign, Gate, Round, Status, Submission, Team, TokenGrant
from leaderboard.platform.statements import prepared
from scoring.errors import PredictionError, Problem

FREE_PER_DAY = 100
# The submissions that take a unit of a limit.
COUNTS: Final = Q(status__in=COUNTED, takes_quota=True)
_NO_QUOTA_LEFT: Final = (
    "This is the file of an earlier submission, which has no answer to repeat, and no submission "
    "is left for a new one."
)


@dataclass(frozen=True)
class Quota:
    """What a team may still upload in a round; `total_left` is None where there is no total limit.

    Rejected files and repeats cost none of it, but only so many are taken in a day.
    """

    daily_limit: int
    daily_left: int
    renews_at: datetime
    total_limit: int | None
    total_left: int | None
    free_left: int

    @property
    def left(self) -> int:
        if not self.free_left:
            return 0
        return self.daily_left if self.total_left is None else min(self.daily_left, self.total_left)

    def check(self, *, takes_quota: bool) -> None:
        """Raise Refused where nothing is left, with the limit that was reached."""
        if takes_quota and not self.daily_left:
            raise Refused("daily_limit_reached", limit=self.daily_limit, renews_at=self.renews_at)
        if not self.free_left:
            raise Refused("too_many_rejected", limit=FREE_PER_DAY, renews_at=self.renews_at)
        if takes_quota and self.total_limit is not None and not self.total_left:
            raise Refused("total_limit_reached", limit=self.total_limit)


def quota(team: Team, round: Round, now: datetime) -> Quota:
    """Return what the team may still upload. Practice has a daily limit of its own, no other."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    is_practice = round.revealed_at is not None
    counted = _used(team.pk, round.pk, is_practice, day)
    used_today, used_in_all, free_today = counted[0] if counted else (0, 0, 0)
    daily, total = limits(team, round)
    total = None if is_practice else total
    return Quota(
        daily_limit=daily,
        daily_left=max(0, daily - used_today),
        renews_at=day + timedelta(days=1),
        total_limit=total,
        total_left=None if total is None else max(0, total - used_in_all),
        free_left=max(0, FREE_PER_DAY - free_today),
    )


@prepared
def _used(
    team: int, round: int, is_practice: bool, day: datetime
) -> QuerySet[Submission, tuple[int, int, int]]:
    """Return the units taken since that day began and in all, and the files since that took none.

    Nothing where the team has sent none.
    """
    today = Q(created_at__gte=day)
    free = Q(status=Status.REJECTED) | Q(takes_quota=False)
    rows = Submission.objects.filter(team=team, round=round, is_practice=is_practice)
    counted = (
        rows.order_by()
        .values("team")
        .annotate(
            today=Count("pk", filter=today & COUNTS),
            all=Count("pk", filter=COUNTS),
            free=Count("pk", filter=today & free),
        )
    )
    return counted.values_list("today", "all", "free")


def limits(team: Team, round: Round) -> tuple[int, int | None]:
    """Return how many files the team may send a day and in all, with what it was given extra."""
    total = None if round.total_limit is None else round.total_limit + team.extra_total
    return round.daily_limit + team.extra_daily, total


def campaign_left(campaign: Campaign | None) -> int | None:
    """Return how many submissions a campaign may still make; None for no limit."""
    if campaign is None or campaign.limit is None:
        return None
    return max(0, campaign.limit - campaign.submissions.filter(COUNTS).count())


def token_left(grant: TokenGrant | None) -> int | None:
    """Return how many submissions may still be made with a token; None for no quota."""
    if grant is None or grant.quota is None:
        return None
    return max(0, grant.quota - grant.submissions.filter(COUNTS).count())


def check_own_limits(campaign: Campaign | None, grant: TokenGrant | None) -> None:
    """Raise Refused where the campaign or the token has no unit left for a new submission.

    The team's lock covers both: a token with a quota is for one competition, where its person is in
    one team at a time.
    """
    if campaign is not None and campaign_left(campaign) == 0:
        raise Refused("campaign_limit_reached", name=campaign.name, limit=campaign.limit)
    if grant is not None and token_left(grant) == 0:
        raise Refused("token_quota_reached", limit=grant.quota)


def is_repeat(team: Team, round: Round, sha256: str, gate: Gate | None = None) -> bool:
    """Return whether a file of these bytes has an answer that stands, or waits for one.

    From the boards, or from the gate that it is sent to.
    """
    if round.ledger_id is None:
        return False
    same = team.pk, round.ledger_id, sha256
    return bool(_answered(*same) if gate is None else _answered_by_gate(*same, gate.pk))


@prepared
def _answered(team: int, ledger: int, sha256: str) -> QuerySet[Submission, int]:
    stands = Q(status=Status.RELEASED, release__holdout__retired_at__isnull=True)
    return _same_file(team, ledger, sha256, stands).filter(gate=None)


@prepared
def _answered_by_gate(team: int, ledger: int, sha256: str, gate: int) -> QuerySet[Submission, int]:
    stands = Q(status=Status.RELEASED, gate_answer__holdout__retired_at__isnull=True)
    return _same_file(team, ledger, sha256, stands).filter(gate=gate)


def _same_file(team: int, ledger: int, sha256: str, stands: Q) -> QuerySet[Submission, int]:
    same = Submission.objects.filter(team=team, round__ledger=ledger, sha256=sha256)
    waits = Q(status__in=(Status.QUEUED, Status.SCORING))
    return same.filter(waits | stands).order_by().values_list("pk", flat=True)


def settle(submission: Submission, *, repeats: bool) -> None:
    """Note whether a submission takes a unit, now that its answers are known.

    Call it before they are committed. Raises PredictionError where they are new, the file was taken
    for a repeat, and no unit is left: the file before it failed, or its answer was none to keep.
    """
    if not repeats and not submission.takes_quota:
        # The lock under which intake counts.
        team = Team.objects.select_for_update(no_key=True).get(pk=submission.team_id)
        left = quota(team, submission.round, submission.created_at)
        own = campaign_left(submission.campaign), token_left(submission.token_grant)
        if 0 in (left.daily_left, left.total_left, *own):
            raise PredictionError([Problem("no_quota_left", message=_NO_QUOTA_LEFT)])
    submission.takes_quota = not repeats
