"""What organizers announced."""

from django.db.models import QuerySet

from leaderboard.models import Announcement, Competition

NEWEST = 3


def announcements(competition: Competition) -> QuerySet[Announcement]:
    """Return what stands announced, the newest first."""
    return competition.announcements.shown().select_related("author")
