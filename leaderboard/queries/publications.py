"""What became public after the end: solution, secret and measurements, a file for each version."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from leaderboard.models import Holdout, Round


@dataclass(frozen=True)
class Publication:
    """The publication of one version of the solution; `name` is the stored file's."""

    version: int
    published_at: datetime
    size: int
    sha256: str
    name: str


def publications(round: Round) -> tuple[Publication, ...]:
    """Return all publications, the oldest version first; none before the organizer's word."""
    published = Holdout.objects.filter(ledger=round.ledger_id, published_at__isnull=False)
    return tuple(publication(holdout) for holdout in published.order_by("version"))


def publication(holdout: Holdout) -> Publication:
    """Return the publication of a version that has been published."""
    name = holdout.publication.name or ""
    if holdout.published_at is None:
        raise ValueError("It has not been published.")
    return Publication(
        version=holdout.version,
        published_at=holdout.published_at,
        size=holdout.publication.size,
        sha256=PurePath(name).stem,
        name=name,
    )
