"""What organizers take off the boards, and why."""

from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.submission import Submission
from leaderboard.models.team import Team


class SanctionKind(models.TextChoices):
    """What others see of what was taken off."""

    DISQUALIFIED = "disqualified", "Disqualified: named with the reason"
    HIDDEN = "hidden", "Hidden: not shown to others at all"


class SanctionQuerySet(models.QuerySet["Sanction"]):
    """Sanctions of teams and submissions."""

    def at(self, moment: datetime | None = None) -> Self:
        """Return those that held at a moment; those that hold now for None."""
        if moment is None:
            return self.filter(lifted_at__isnull=True)
        lifted = Q(lifted_at__isnull=True) | Q(lifted_at__gt=moment)
        return self.filter(lifted, created_at__lte=moment)

    def of_teams(self) -> Self:
        """Return those of teams as a whole."""
        return self.filter(submission__isnull=True)

    def hidden_teams(self) -> models.QuerySet[Any]:
        """Return the keys of the teams that others don't see."""
        return self.at().of_teams().filter(kind=SanctionKind.HIDDEN).values("team")

    def of_submissions(self) -> Self:
        """Return those of single submissions."""
        return self.filter(submission__isnull=False)


class Sanction(models.Model):
    """A team, or a submission of it, that no board ranks and no finals count, while it holds.

    Entries of the ledger stay: what was answered was answered. The reason is public.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="sanctions")
    submission = models.ForeignKey(Submission, models.CASCADE, null=True, related_name="sanctions")
    kind = models.CharField(max_length=12, choices=SanctionKind.choices)
    reason = models.CharField(max_length=500)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)

    objects = SanctionQuerySet.as_manager()

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["team"],
                condition=Q(submission__isnull=True, lifted_at__isnull=True),
                name="one_sanction_of_a_team",
            ),
            models.UniqueConstraint(
                fields=["submission"],
                condition=Q(submission__isnull=False, lifted_at__isnull=True),
                name="one_sanction_of_a_submission",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=SanctionKind.values), name="sanction_kind_known"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="sanction_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"
