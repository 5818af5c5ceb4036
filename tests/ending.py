"""Bringing a competition of the cast to its end."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from leaderboard.models import Competition, Status, Submission
from leaderboard.participate import selection
from leaderboard.pipeline import finalize
from leaderboard.tasks import place_finals, score_final
from tests.cast import set_round


def close(competition: Competition) -> Competition:
    """Let the deadline pass."""
    set_round(competition, closes_at=timezone.now() - timedelta(minutes=1))
    return competition


def start(competition: Competition) -> Competition:
    """Close it and start the finals; no worker has looked yet."""
    finalize.start_finals(close(competition).current_round)
    return competition


def score(competition: Competition) -> Competition:
    """Start the finals and measure every entry, as workers would."""
    start(competition)
    measure(competition)
    return competition


def measure(competition: Competition) -> None:
    """Do what the workers do with the messages of a sweep."""
    for submission in selection.entered(competition.current_round).order_by("pk"):
        score_final(submission_id=submission.pk)
    place_finals(round_id=competition.current_round.pk)
    competition.refresh_from_db()


def reveal(competition: Competition) -> Competition:
    """Play the whole end."""
    finalize.reveal(score(competition).current_round)
    return competition


def statuses(competition: Competition) -> list[str]:
    """Return how its submissions stand, by number."""
    rows = Submission.objects.filter(team__competition=competition).order_by("number")
    return [Status(status).value for status in rows.values_list("status", flat=True)]
