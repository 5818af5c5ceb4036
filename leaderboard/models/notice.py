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
    event = models.ForeignKey(Event, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=24, choices=NoticeKind.choices)
    announcement = models.ForeignKey(Announcement, models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    waits_for_digest = models.BooleanField(default=False)
    digest = models.ForeignKey(Delivery, models.SET_NULL, null=True, related_name="notices")

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["event", "recipient"], name="one_notice_each"),
        ]
        indexes = [
            models.Index(fields=["recipient", "-created_at", "-id"], name="inbox"),
            models.Index(
                fields=["recipient"], condition=Q(read_at__isnull=True), name="inbox_unread"
            ),
            models.Index(
                fields=["recipient"], condition=Q(waits_for_digest=True), name="inbox_for_digest"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.recipient_id}"


class Rhythm(models.TextChoices):
    """When a person is sent what can wait."""

    AT_ONCE = "at_once", "Each at once"
    DAILY = "daily", "Together, once a day"
    NEVER = "never", "Not by mail"


class Mailbox(models.Model):
    """How a person gets mails. Without a row: each at once.

    `refused` is the address that a mail server refused for good, which nothing is sent to until
    the person asks for it or has another one.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="mailbox", primary_key=True
    )
    rhythm = models.CharField(max_length=10, choices=Rhythm.choices, default=Rhythm.AT_ONCE)
    refused = models.EmailField(blank=True)
    refused_at = models.DateTimeField(null=True)
    refused_because = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"mailbox of {self.user_id}"
