"""Gates of a round: yes-or-no questions to the Private rows, each fixed before it is asked."""

from functools import cached_property

from django.db import models
from django.db.models import Q

from leaderboard.models.round import Board, Round, new_uid
from leaderboard.models.submission import Submission
from scoring import gates


class GateQuerySet(models.QuerySet["Gate"]):
    """Gates of rounds."""

    def open(self) -> "GateQuerySet":
        """Return those that may be asked."""
        return self.filter(retired_at__isnull=True)


class Gate(models.Model):
    """A question that programs ask by its name, never changed; one that is retired stays.

    `kind`, `bound` (a loss) and `differing` (a share of the rows) are those of `scoring.gates`,
    `in_use` the file that it compares with, null of a mark. `margin`, in units of the score, is how
    far its answers may err at most: where the ledger can't keep it any more, the gate is closed.
    The log says when it was made, an event who made it.
    """

    round = models.ForeignKey(Round, models.CASCADE, related_name="gates")
    board = models.ForeignKey(Board, models.CASCADE, related_name="gates")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=12)
    bound = models.CharField(max_length=40, default="0")
    differing = models.CharField(max_length=40, default="1")
    margin = models.FloatField(null=True, blank=True)
    in_use = models.ForeignKey(
        Submission, models.PROTECT, null=True, blank=True, related_name="in_use_at"
    )
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = GateQuerySet.as_manager()

    class Meta:
        ordering = ["round", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["round", "name"],
                condition=Q(retired_at__isnull=True),
                name="gate_name_unique",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def question(self) -> gates.Gate:
        """Return the question as its rules know it."""
        facts = {"kind": self.kind, "bound": self.bound, "differing": self.differing}
        return gates.Gate.from_json(facts)
