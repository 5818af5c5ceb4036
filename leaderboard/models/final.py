"""The finals: what teams select, and what it got."""

from fractions import Fraction

from django.db import models
from django.db.models import F, Q

from leaderboard.models.holdout import Holdout
from leaderboard.models.round import Board
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
    any more. `chosen` is false where the team selected nothing and its best released score is used.

    The rest is stored once all scores are there. `low` and `high` are the interval of the loss;
    null where the metric allows none. The entry that counts for its team has the team's `place`,
    shared by equal scores, its `position` in the order of the board, and where the released board
    had the team; `best_place` to `worst_place` are the places that the tests of all pairs leave it,
    null where there were none. A baseline's has none of these.

    Only `pipeline.finalize` writes it, and nobody but organizers sees it before the reveal.
    """

    submission = models.ForeignKey(Submission, models.PROTECT, related_name="final_scores")
    board = models.ForeignKey(Board, models.PROTECT, related_name="final_scores")
    team = models.ForeignKey(Team, models.PROTECT, related_name="final_scores")
    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="final_scores")
    chosen = models.BooleanField()
    units = models.PositiveBigIntegerField()
    rows = models.PositiveBigIntegerField()
    resolution = models.PositiveBigIntegerField()
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    place = models.PositiveIntegerField(null=True)
    position = models.PositiveIntegerField(null=True)
    best_place = models.PositiveIntegerField(null=True)
    worst_place = models.PositiveIntegerField(null=True)
    released_place = models.PositiveIntegerField(null=True)
    released_loss = models.FloatField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["team", "submission"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "board"], name="one_final_score"),
            models.UniqueConstraint(fields=["board", "position"], name="final_position_unique"),
            models.CheckConstraint(
                condition=Q(rows__gte=1)
                & Q(resolution__gte=1)
                & Q(units__lte=F("rows") * F("resolution")),
                name="final_score_in_range",
            ),
        ]
        indexes = [
            models.Index(fields=["board", "team"], name="final_scores_of_team"),
            models.Index(fields=["board", "place", "low"], name="final_places"),
            models.Index(fields=["board", "released_place"], name="final_released_places"),
        ]

    def __str__(self) -> str:
        return f"final score of {self.submission}"

    @property
    def loss(self) -> Fraction:
        """Return the exact mean loss."""
        return Fraction(self.units, self.rows * self.resolution)


class FinalTests(models.Model):
    """What the tests of all pairs of a board's final entries found, as it is published.

    It names entries by their teams' permanent ids and their numbers; see `scoring.guarantees`.
    Only `pipeline.finalize` writes it, with the places that follow.
    """

    board = models.OneToOneField(Board, models.CASCADE, related_name="final_tests")
    document = models.JSONField()

    def __str__(self) -> str:
        return f"tests of the final entries on {self.board}"
