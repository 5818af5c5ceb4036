"""What became public after the end: solution, secret and measurements, a file for each version."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from leaderboard.models import Competition, Holdout


@dataclass(frozen=True)
class Opening:
    """The opening of one version of the holdout; `name` is the stored file's."""

    version: int
    opened_at: datetime
    size: int
    sha256: str
    name: str


def openings(competition: Competition) -> tuple[Opening, ...]:
    """All openings, the oldest version first; none before the organizer's word."""
    opened = competition.holdouts.filter(opened_at__isnull=False).order_by("version")
    return tuple(opening(holdout) for holdout in opened)


def opening(holdout: Holdout) -> Opening:
    """The opening of a holdout that has been opened."""
    name = holdout.opening.name or ""
    assert holdout.opened_at is not None  # noqa: S101  (for the type checker)
    return Opening(
        version=holdout.version,
        opened_at=holdout.opened_at,
        size=holdout.opening.size,
        sha256=PurePath(name).stem,
        name=name,
    )
