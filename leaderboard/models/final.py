"""The end of a competition: what teams enter, and what it got."""

from django.db import models
from django.db.models import F, Q

from leaderboard.models.holdout import Holdout
from leaderboard.models.submission import Submission
from leaderboard.models.team import Team


class Selection(models.Model):
    """A submission that its team enters for the final scores."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="selections")
    submission = models.OneToOneField(Submission, models.CASCADE, related_name="selection")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["team", "submission"]

    def __str__(self) -> str:
        return f"{self.submission} is entered"


class FinalScore(models.Model):
    """The exact mean loss of an entered submission: units / (rows * resolution).

    Measured on the Final rows where there are any, else on the Private ones, when nobody can submit
    any more. `chosen` is false where the team chose nothing and its best released score stands in.
    Only `pipeline.finalize` writes it, and nobody but organizers sees it before the reveal.
    """

    submission = models.OneToOneField(Submission, models.PROTECT, related_name="final_score")
    team = models.ForeignKey(Team, models.PROTECT, related_name="final_scores")
    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="final_scores")
    chosen = models.BooleanField()
    units = models.PositiveBigIntegerField()
    rows = models.PositiveBigIntegerField()
    resolution = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["team", "submission"]
        constraints = [
            models.CheckConstraint(
                condition=Q(rows__gte=1)
                & Q(resolution__gte=1)
                & Q(units__lte=F("rows") * F("resolution")),
                name="final_score_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"final score of {self.submission}"
