"""Submissions: the row, not the queue, is the truth about what is to be scored."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.campaign import Campaign
from leaderboard.models.round import Round
from leaderboard.models.team import Team
from leaderboard.models.token import TokenGrant


class Status(models.TextChoices):
    """How far a submission is."""

    QUEUED = "queued", "Queued"
    SCORING = "scoring", "Being scored"
    RELEASED = "released", "Released"
    REJECTED = "rejected", "Rejected"
    FAILED = "failed", "Failed"


# A rejected file is the participant's to fix and costs nothing; everything else counts.
COUNTED = (Status.QUEUED, Status.SCORING, Status.RELEASED, Status.FAILED)
FINAL = (Status.RELEASED, Status.REJECTED, Status.FAILED)


class Submission(models.Model):
    """A prediction file of a team and how far it has come.

    `problems` is what the participant reads of a rejected file; `failure` is for the organizer
    and names a stage and an exception type, never a value. `enqueued_at` is null if the
    broker did not take the message. `release` is the first board's answer on the revision that it
    was scored on last. `takes_quota` is false of one that repeats what the team had sent before.
    `campaign` and `token_grant`, where it has them, are whose limits it counts for as well.
    `is_practice`: it came after the final scores were revealed, and counts for no board. One that
    was sent to a `gate` has that gate's answer, a note of the ledger, and no release: no board
    answers it, and it is no candidate for the finals.

    `created_at` is the moment that counts: when the head of its request arrived. `is_long` and
    `turn` are its queue and its place there (`pipeline.turns`). `claimed_by` is the message with
    which a worker took it at `claimed_at`, `seen_at` when that worker was last known to live.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="submissions")
    round = models.ForeignKey(Round, models.PROTECT, related_name="submissions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="submissions")
    campaign = models.ForeignKey(
        Campaign, models.RESTRICT, null=True, blank=True, related_name="submissions"
    )
    token_grant = models.ForeignKey(
        TokenGrant, models.SET_NULL, null=True, blank=True, related_name="submissions"
    )
    number = models.PositiveIntegerField()
    file = models.CharField(max_length=200)
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    message = models.CharField(max_length=300, blank=True)
    claimed_score = models.FloatField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    problems = models.JSONField(default=list, blank=True)
    problem_count = models.PositiveIntegerField(default=0)
    failure = models.CharField(max_length=200, blank=True)
    release = models.ForeignKey("Release", models.PROTECT, null=True, blank=True, related_name="+")
    gate = models.ForeignKey(
        "Gate", models.PROTECT, null=True, blank=True, related_name="submissions"
    )
    gate_answer = models.ForeignKey(
        "LedgerNote", models.PROTECT, null=True, blank=True, related_name="+"
    )
    takes_quota = models.BooleanField(default=True)
    is_practice = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    is_long = models.BooleanField(default=False)
    turn = models.PositiveBigIntegerField(default=0)
    claimed_by = models.CharField(max_length=40, blank=True)
    seen_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    enqueued_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["team", "number"], name="submission_number_unique"),
            models.CheckConstraint(
                condition=Q(status__in=Status.values), name="submission_status_known"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=False) | ~Q(status__in=FINAL),
                name="submission_ends_at_a_moment",
            ),
        ]
        indexes = [
            models.Index(
                fields=["status", "enqueued_at"],
                condition=~Q(status__in=FINAL),
                name="submission_unfinished",
            ),
            models.Index(fields=["team", "round", "created_at"], name="submission_quota"),
            models.Index(
                fields=["is_long", "round", "turn", "created_at"],
                condition=Q(status=Status.QUEUED),
                name="submission_turns",
            ),
            models.Index(
                fields=["round", "is_long", "claimed_at"],
                condition=Q(claimed_at__isnull=False),
                name="submission_served",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team} #{self.number}"
