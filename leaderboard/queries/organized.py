"""The competitions that a person runs, as the console lists them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone

from leaderboard.access import Person, organized_competitions
from leaderboard.models import Phase, Status, Submission, Team


@dataclass(frozen=True)
class OrganizedCompetition:
    """A competition in an organizer's list. `closes_at` is None where it has no end."""

    slug: str
    title: str
    phase: Phase
    opens_at: datetime
    closes_at: datetime | None
    teams: int
    submissions: int
    failed: int


def organized(user: Person) -> list[OrganizedCompetition]:
    """Return the competitions that this person runs, the newest first."""
    rows = organized_competitions(user).prefetch_related("rounds__ledger", "rounds__boards")
    competitions = list(rows.order_by("-created_at", "-pk"))
    teams = _counts(Team.objects.filter(merged_into=None), "competition")
    sent = _counts(Submission.objects.all(), "team__competition")
    failed = _counts(Submission.objects.filter(status=Status.FAILED), "team__competition")
    return [
        OrganizedCompetition(
            slug=each.slug,
            title=each.title,
            phase=each.phase(timezone.now()),
            opens_at=each.current_round.opens_at,
            closes_at=each.current_round.closes_at,
            teams=teams.get(each.pk, 0),
            submissions=sent.get(each.pk, 0),
            failed=failed.get(each.pk, 0),
        )
        for each in competitions
    ]


def _counts(rows: QuerySet[Any], competition: str) -> dict[int, int]:
    """Return how many of the rows each competition has, by its key."""
    grouped = rows.order_by().values_list(competition)
    return dict(grouped.annotate(count=Count("pk")))
