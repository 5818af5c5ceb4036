"""Addresses that organizers have the events of their competition sent to."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition
from leaderboard.models.event import EventKind
from leaderboard.models.round import new_uid


class Webhook(models.Model):
    """An address, with the kinds of events that it is sent; without any named, all of them.

    Its secret follows from the site's own key, `uid` and `generation`, and is stored nowhere.
    `failures` counts the attempts that failed since the last one that didn't; until `retry_at`
    nothing is sent, so that a server that is away is not asked once for each event.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="webhooks")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    generation = models.PositiveIntegerField(default=1)
    url = models.CharField("address", max_length=500)
    kinds = models.JSONField(default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_because = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(url=""), name="webhook_has_an_address"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def kind_titles(self) -> list[str]:
        """Return what it is sent, in words; empty for everything."""
        return [EventKind(kind).label for kind in self.kinds]
