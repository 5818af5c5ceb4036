"""What the organizers of a competition tell everybody who may see it."""

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models

from leaderboard.models.competition import Competition
from leaderboard.models.round import new_uid


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    """Announcements, the newest first."""

    def shown(self) -> "AnnouncementQuerySet":
        """Return those that were not withdrawn."""
        return self.filter(withdrawn_at__isnull=True)


class Announcement(models.Model):
    """A Markdown text with a title, numbered for each competition; `uid` names it in feeds.

    One that is withdrawn keeps its number, and nobody but organizers sees it.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="announcements")
    number = models.PositiveIntegerField()
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    title = models.CharField(max_length=120)
    text = models.TextField(
        blank=True, help_text="Markdown.", validators=[MaxLengthValidator(20_000)]
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    objects = AnnouncementQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["competition", "number"], name="announcement_number_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.title
