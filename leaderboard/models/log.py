"""The public log of a competition: its entries, and the heads that were signed."""

from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition
from leaderboard.models.submission import Submission


class LogEntry(models.Model):
    """Something that decides a place, for good: a leaf of the competition's Merkle tree.

    `document` is what is published and hashed (`scoring.transparency.leaves`). `opening` is what
    its salted commitments stand for, with what a restored database needs to know besides; it is
    nobody else's business, and goes with the account that it tells of. `submission` is the one that
    it is about, whoever has it by now.
    """

    competition = models.ForeignKey(
        Competition, models.CASCADE, db_index=False, related_name="log_entries"
    )
    index = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=16)
    document = models.JSONField()
    opening = models.JSONField(null=True)
    hash = models.CharField(max_length=64)
    submission = models.ForeignKey(
        Submission, models.SET_NULL, null=True, related_name="log_entries"
    )

    class Meta:
        ordering = ["competition", "index"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "index"], name="log_index_unique"),
        ]
        indexes = [
            models.Index(fields=["competition"], condition=Q(kind="merged"), name="log_mergers"),
        ]

    def __str__(self) -> str:
        return f"{self.index}: {self.kind}"


class LogNode(models.Model):
    """The hash of 256**level entries of a log, from which proofs and tiles are made."""

    competition = models.ForeignKey(Competition, models.CASCADE, db_index=False, related_name="+")
    level = models.PositiveSmallIntegerField()
    number = models.PositiveBigIntegerField()
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["competition", "level", "number"], name="log_node_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.level}/{self.number}"


class LogHead(models.Model):
    """A signed head of a log, over entries that lie outside the database as well.

    `note` is the checkpoint with the signatures of the log, by the key of this `verifier`, and of
    the witnesses that have seen it, by these names; `frontier` is what the next head grows from.
    """

    competition = models.ForeignKey(
        Competition, models.CASCADE, db_index=False, related_name="log_heads"
    )
    size = models.PositiveBigIntegerField()
    frontier = models.JSONField()
    note = models.TextField()
    verifier = models.CharField(max_length=200)
    witnesses = models.JSONField(default=list)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["competition", "-size"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "size"], name="log_head_unique"),
        ]

    def __str__(self) -> str:
        return f"head of {self.size}"
