"""The outbox: one row for each event, recipient and channel, and who wants what."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition
from leaderboard.models.event import Event
from leaderboard.models.round import new_uid
from leaderboard.models.user import AccountEvent
from leaderboard.models.webhook import Webhook


class Channel(models.TextChoices):
    """How something is delivered."""

    MAIL = "mail", "By mail"
    WEBHOOK = "webhook", "By webhook"


class NoticeKind(models.TextChoices):
    """What a person can be told of, and can ask not to be sent by mail."""

    ANNOUNCEMENT = "announcement", "Announcements of the organizers"
    RESULT = "result", "Your results, where scoring took long"
    DEADLINE = "deadline", "A deadline is near, and your team has selected nothing"
    SCHEDULE = "schedule", "The deadline was moved, or submitting ended early"
    INVITATION = "invitation", "Invitations"
    TEAM = "team", "Your team: requests to merge, and what its captain changes"
    RULES = "rules", "The rules changed"
    FINALS = "finals", "The finals have started, or their board is out"
    REVISION = "revision", "The solution was revised"
    WEBHOOK_DISABLED = "webhook_disabled", "Webhooks that were turned off (owners)"
    DIGEST = "digest", "The daily mail with all that can wait"


class Preference(models.Model):
    """Whether a person wants to be told of a kind of things; without a row, yes.

    One without a competition is about all of them.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="preferences")
    competition = models.ForeignKey(Competition, models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=24, choices=NoticeKind.choices)
    channel = models.CharField(max_length=10, choices=Channel.choices)
    is_wanted = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "competition", "kind", "channel"], name="one_preference_each"
            ),
            models.UniqueConstraint(
                fields=["user", "kind", "channel"],
                condition=Q(competition__isnull=True),
                name="one_preference_for_all",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.channel}: {self.is_wanted}"


class DeliveryState(models.TextChoices):
    """How far a delivery is."""

    WAITING = "waiting", "Waiting"
    SENDING = "sending", "Being sent"
    SENT = "sent", "Sent"
    FAILED = "failed", "Failed"
    DROPPED = "dropped", "Not wanted any more"


class Delivery(models.Model):
    """Something to be sent: the row is the truth, and a message on the queue only a hint.

    It goes to a person or to a webhook. `uid` is the same in every attempt, so that a recipient
    can tell one that came twice. It is about an event, or about one of the person's account; else
    it is an organizer's test, or a person's digest.
    """

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    event = models.ForeignKey(Event, models.CASCADE, null=True, related_name="deliveries")
    account_event = models.OneToOneField(AccountEvent, models.CASCADE, null=True, related_name="+")
    channel = models.CharField(max_length=10, choices=Channel.choices)
    kind = models.CharField(max_length=24)
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="deliveries")
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    claimed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["event", "recipient", "channel"], name="one_delivery_for_a_person"
            ),
            models.UniqueConstraint(fields=["event", "webhook"], name="one_delivery_for_a_webhook"),
            models.CheckConstraint(
                condition=Q(recipient__isnull=False, webhook__isnull=True)
                | Q(recipient__isnull=True, webhook__isnull=False),
                name="delivery_has_one_recipient",
            ),
        ]
        indexes = [
            models.Index(
                fields=["channel", "due_at"],
                condition=Q(state__in=("waiting", "sending")),
                name="deliveries_to_send",
            ),
            models.Index(fields=["finished_at"], name="deliveries_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.channel}: {self.state}"


class OutboxCursor(models.Model):
    """How far the events of a competition have been turned into deliveries.

    Events are numbered under a lock that is held until they are committed, so none appears behind
    the cursor. `person` is the key of the last recipient of the event that comes next.
    """

    competition = models.OneToOneField(
        Competition, models.CASCADE, related_name="+", primary_key=True
    )
    number = models.PositiveBigIntegerField(default=0)
    person = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"up to {self.number}"
