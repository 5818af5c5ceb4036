"""What a restored database is missing, for organizers to know before the finals."""

from typing import Final

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


# What organizers did, by the kind of the log's entry, and what they have to do again.
_AGAIN: Final = {
    "round": "a round was added: add it again, with its times, boards and solution",
    "sent": "sent to a round that the backup lacks: it has to be sent again",
    "rules": "the rules were changed: change them again",
    "scoring": "boards or their scoring were changed: change them again",
    "sealed": "a solution was sealed: upload it again",
    "revised": "the solution was revised: revise it again, with the same file",
    "published": "solution and secret were published: publish them again",
    "baseline": "the mark of a baseline was set or removed: do it again",
    "disqualified": "a disqualification was written or lifted: do it again",
    "hidden": "a team was hidden or shown: do it again",
    "excluded": "a submission was excluded or counted again: do it again",
    "revealed": "the final scores were revealed: reveal them again",
    "gate": "a gate was made or retired: do it again",
    "top_up": "the budget was raised: raise it again",
}


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
        what = _AGAIN.get(self.action, self.action) or LossKind(self.kind).label.lower()
        if self.team is None:
            return f"{what[:1].upper()}{what[1:]}"
        number = "" if self.submission is None else f" #{self.submission}"
        return f"{self.team.name}{number}: {what}"
