"""What a person is told of on the site, and how mails reach them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.announcement import Announcement
from leaderboard.models.competition import Competition
from leaderboard.models.delivery import Delivery, NoticeKind
from leaderboard.models.event import Event
from leaderboard.models.round import new_uid


class Notice(models.Model):
    """A row of a person's inbox: an event that concerns them. Its words are made from the event.

    `uid` names it where a key would count other people's. An `announcement` is shown as it is now,
    and not at all once it is withdrawn. What `waits_for_digest` is gathered into a mail, `digest`.
    """

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices", db_index=False
    )
    competition = models.ForeignKey(Competition, models.CASCADE, related_name="+")
    rhythm = models.CharField(max_length=10, choices=Rhythm.choices, default=Rhythm.AT_ONCE)
    refused = models.EmailField(blank=True)
    refused_at = models.DateTimeField(null=True)
    refused_because = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"mailbox of {self.user_id}"
