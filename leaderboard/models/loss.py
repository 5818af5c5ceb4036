"""What a restored database is missing, for organizers to know before the finals."""

from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition
from leaderboard.models.team import Team


class LossKind(models.TextChoices):
    """What can be lost with a database."""

    FILE = "file", "A submission's file"
    PEOPLE = "people", "The people of a team"
    SELECTION = "selection", "A selected submission"
    ACTION = "action", "Something that organizers did"


class Loss(models.Model):
    """Something that log and storage could not bring back after a restore.

    `submission` is a number of the team's; `action` is the kind of the log's entry that organizers
    have to repeat. The finals start only once somebody has accepted what is missing.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="losses")
    kind = models.CharField(max_length=10, choices=LossKind.choices)
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="losses")
    submission = models.PositiveIntegerField(null=True)
    action = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    accepted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["competition", "team__name", "submission", "pk"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=LossKind.values), name="loss_kind_known"),
        ]

    def __str__(self) -> str:
        who = self.team.name if self.team else "organizers"
        number = "" if self.submission is None else f" #{self.submission}"
        what = self.action or LossKind(self.kind).label.lower()
        return f"{who}{number}: {what}"
