"""What everyone may know of a revised solution."""

from dataclasses import dataclass
from datetime import datetime

from leaderboard.access import Person, may_see_others
from leaderboard.models import Round, Status, Submission


@dataclass(frozen=True)
class Revision:
    """The last revision of a solution; `scored` of `of` submissions have their new answer.

    Both are 0 for those who may not know of other teams.
    """

    version: int
    at: datetime
    reason: str
    scored: int
    of: int


def revision(round: Round, user: Person) -> Revision | None:
    """Return the last revision; None where the solution is as it was at the opening."""
    holdout = round.active_holdout
    if holdout is None or not holdout.reason:
        return None
    of = holdout.rescored if may_see_others(user, round.competition) else 0
    left = Submission.objects.filter(
        round__ledger=holdout.ledger_id,
        status__in=(Status.QUEUED, Status.SCORING, Status.FAILED),
        release__isnull=False,
    ).exclude(release__holdout=holdout)
    return Revision(
        version=holdout.version,
        at=holdout.created_at,
        reason=holdout.reason,
        scored=max(0, of - left.count()) if of else 0,
        of=of,
    )
