"""Bringing a competition of the cast to its end."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from leaderboard.models import Competition, Status, Submission
from leaderboard.participate import selection
from leaderboard.pipeline import finalize
from leaderboard.tasks import score_final


def close(competition: Competition) -> Competition:
    """Lets the deadline pass."""
    competition.closes_at = timezone.now() - timedelta(minutes=1)
    competition.save(update_fields=["closes_at"])
    return competition


def start(competition: Competition) -> Competition:
    """Closes it and starts the finals; no worker has looked yet."""
    finalize.start_finals(close(competition))
    return competition


def score(competition: Competition) -> Competition:
    """Starts the finals and measures every entry, as workers would."""
    start(competition)
    measure(competition)
    return competition


def measure(competition: Competition) -> None:
    """What the workers do with the messages of a sweep."""
    for submission in selection.entered(competition).order_by("pk"):
        score_final(submission_id=submission.pk)
    competition.refresh_from_db()


def reveal(competition: Competition) -> Competition:
    """The whole end."""
    finalize.reveal(score(competition))
    return competition


def statuses(competition: Competition) -> list[str]:
    """How its submissions stand, by number."""
    rows = Submission.objects.filter(team__competition=competition).order_by("number")
    return [Status(status).value for status in rows.values_list("status", flat=True)]
