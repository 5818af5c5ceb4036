"""Submissions: the row, not the queue, is the truth about what is to be scored."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.round import Round
from leaderboard.models.team import Team


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
    and names a stage and an exception type, never a value. `enqueued_at` is null as long as the
    broker has not taken the message. `release` is the first board's answer on the revision that it
    was scored on last. `takes_quota` is false of one that repeats what the team had sent before.
    `is_practice`: it came after the final scores were revealed, and counts for no board.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="submissions")
    round = models.ForeignKey(Round, models.PROTECT, related_name="submissions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="submissions")
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
    takes_quota = models.BooleanField(default=True)
    is_practice = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
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
        ]

    def __str__(self) -> str:
        return f"{self.team} #{self.number}"
