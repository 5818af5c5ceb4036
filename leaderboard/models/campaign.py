"""Campaigns: names under which a team groups what it submits, such as the run of an agent."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.round import new_uid
from leaderboard.models.team import Team

NAME_LENGTH: Final = 40


class Campaign(models.Model):
    """A group of a team's submissions, with a name of its own in the team.

    `limit` is how many units of quota its submissions may take, None for no limit. One that has
    ended takes no more.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="campaigns")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    name = models.CharField(max_length=NAME_LENGTH)
    limit = models.PositiveIntegerField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="campaigns"
    )
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="campaign_name_unique"),
            models.CheckConstraint(condition=~Q(name=""), name="campaign_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name
