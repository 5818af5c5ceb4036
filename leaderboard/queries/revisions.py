"""What everyone may know of a corrected solution."""

from dataclasses import dataclass
from datetime import datetime

from leaderboard.models import Competition, Status, Submission
from leaderboard.queries.competitions import holdout_in_force


@dataclass(frozen=True)
class Correction:
    """The last correction of a solution; `scored` of `of` submissions have their new answer."""

    version: int
    at: datetime
    reason: str
    scored: int
    of: int


def correction(competition: Competition) -> Correction | None:
    """The last correction; None where the solution is as it was at the opening."""
    holdout = holdout_in_force(competition)
    if holdout is None or not holdout.reason:
        return None
    left = Submission.objects.filter(
        team__competition=competition,
        status__in=(Status.QUEUED, Status.SCORING, Status.FAILED),
        release__isnull=False,
    ).exclude(release__holdout=holdout)
    return Correction(
        version=holdout.version,
        at=holdout.created_at,
        reason=holdout.reason,
        scored=max(0, holdout.rescored - left.count()) if holdout.rescored else 0,
        of=holdout.rescored,
    )
