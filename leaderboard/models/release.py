"""What the mechanism said, and where it put the teams."""

from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition
from leaderboard.models.holdout import Holdout
from leaderboard.models.submission import Submission
from leaderboard.models.team import Team


class Kind(models.TextChoices):
    CONFIRMED = "confirmed", "Confirmed"
    CORRECTED = "corrected", "Corrected"
    IMPROVED = "improved", "Improved"
    NOT_IMPROVED = "not_improved", "Not improved"
    PASS = "pass", "Pass"
    FAIL = "fail", "Fail"
    EXHAUSTED = "exhausted", "Share used up"


class Release(models.Model):
    """One answer of the mechanism: an entry of the holdout's public ledger, never changed.

    The released loss is `level / steps` (lower is better); `reference_level` is the score on the
    Public rows. `width` is the ledger's confidence width at this question, `tolerance` what else
    lies between the shown loss and the rows' mean, `certificate` their sum, or null for "no
    certificate". `repeat_of` marks a question asked before, whose stored answer this is.
    `answered`, `log_alphabets`, `firings` and `budget_left` are the ledger's head after it.
    `predictions_tag` stands for the predictions in public; their digest stays here, and is empty
    for an answer that was replayed from the published ledger.
    """

    submission = models.ForeignKey(Submission, models.PROTECT, related_name="releases")
    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="ledger")
    team = models.ForeignKey(Team, models.PROTECT, related_name="releases")
    number = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    level = models.PositiveIntegerField(null=True)
    reference_level = models.PositiveIntegerField(null=True)
    steps = models.PositiveIntegerField()
    width = models.FloatField()
    tolerance = models.FloatField()
    certificate = models.FloatField(null=True)
    asked = models.PositiveBigIntegerField()
    share_left = models.PositiveIntegerField(null=True)
    answered = models.PositiveBigIntegerField()
    log_alphabets = models.FloatField()
    firings = models.PositiveBigIntegerField()
    budget_left = models.PositiveIntegerField(null=True)
    predictions_tag = models.CharField(max_length=64)
    predictions_digest = models.CharField(max_length=64, blank=True)
    question = models.CharField(max_length=200)
    repeat_of = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="repeats"
    )
    parameters_hash = models.CharField(max_length=64)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["holdout", "number"]
        constraints = [
            models.UniqueConstraint(fields=["holdout", "number"], name="release_number_unique"),
            models.UniqueConstraint(
                fields=["submission", "holdout"], name="one_release_per_submission"
            ),
            models.UniqueConstraint(
                fields=["holdout", "team", "predictions_tag", "question"],
                condition=Q(repeat_of__isnull=True),
                name="question_answered_once",
            ),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="release_kind_known"),
            models.CheckConstraint(
                condition=Q(level__isnull=True) | Q(level__lte=models.F("steps")),
                name="release_on_its_grid",
            ),
        ]
        indexes = [models.Index(fields=["team", "number"], name="release_of_team")]

    def __str__(self) -> str:
        return f"release {self.number} of {self.holdout_id}"


class Standing(models.Model):
    """A team's row of the board, made of released values only.

    `loss` is the team's best released loss, null as long as nothing was released; `reached_at`, the
    moment at which the file that reached it was accepted, breaks ties: who was first stands above.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="standings")
    team = models.OneToOneField(Team, models.CASCADE, related_name="standing")
    loss = models.FloatField(null=True)
    best = models.ForeignKey(Release, models.PROTECT, null=True, related_name="+")
    last = models.ForeignKey(Release, models.PROTECT, related_name="+")
    reached_at = models.DateTimeField()
    entries = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = [models.F("loss").asc(nulls_last=True), "reached_at", "id"]
        indexes = [
            models.Index(fields=["competition", "loss", "reached_at", "id"], name="board_order"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(loss__isnull=True) | (Q(loss__gte=0) & Q(loss__lte=1)),
                name="standing_loss_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"standing of {self.team_id}"
