"""Competitions and the files that participants download."""

from datetime import datetime

from django.conf import settings
from django.core.validators import MaxLengthValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

# Markdown is rendered at every view: what an organizer types must not take seconds.
PAGE_LENGTH = MaxLengthValidator(40_000)


class Visibility(models.TextChoices):
    PUBLIC = "public", "Public: everyone sees it"
    INVITED = "invited", "Invited: only invited people and members see it"
    HIDDEN = "hidden", "Hidden: only its organizers see it"


class Phase(models.TextChoices):
    DRAFT = "draft", "Draft"
    UPCOMING = "upcoming", "Opens soon"
    OPEN = "open", "Open"
    CLOSED = "closed", "Closed"


class Competition(models.Model):
    """One question, one holdout, one mechanism that answers, and a board.

    `opened_by_organizer_at` is set once, when the checklist was green; until then it is a draft
    that nobody but its organizers sees. Metric, mechanism and schema freeze at the first release.
    `announced_closes_at` is when it was to close, where an organizer closed it earlier, for good.
    After it closed come the finals: `finals_started_at` ends all submitting and choosing,
    `finals_scored_at` says that every final score is there, `revealed_at` shows them to everyone,
    and `unsealed_at` is the organizer's word to publish solution and secret. `finals_enqueued_at`
    is when workers were last asked for final scores that are missing.
    """

    slug = models.SlugField("short name in addresses", unique=True, max_length=60)
    title = models.CharField(max_length=120)
    tagline = models.CharField("one sentence", max_length=200, blank=True)
    description = models.TextField(
        "overview page", blank=True, help_text="Markdown.", validators=[PAGE_LENGTH]
    )
    rules = models.TextField(
        "rules page", blank=True, help_text="Markdown.", validators=[PAGE_LENGTH]
    )
    rules_version = models.PositiveIntegerField(default=1)
    data_description = models.TextField(
        "data page", blank=True, help_text="Markdown.", validators=[PAGE_LENGTH]
    )

    organizers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="organized_competitions"
    )
    invited = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="invited_to_competitions", blank=True
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    opens_at = models.DateTimeField("opens")
    closes_at = models.DateTimeField("closes")
    announced_closes_at = models.DateTimeField(null=True, blank=True, editable=False)
    opened_by_organizer_at = models.DateTimeField(null=True, blank=True, editable=False)

    daily_limit = models.PositiveIntegerField(
        "submissions a day",
        default=20,
        validators=[MinValueValidator(1)],
        help_text="Per team and day (UTC). Rejected files don't count.",
    )
    total_limit = models.PositiveIntegerField(
        "submissions in all",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Per team. Empty: no limit.",
    )
    team_size = models.PositiveIntegerField(
        "members of a team", default=4, validators=[MinValueValidator(1)]
    )
    max_file_bytes = models.PositiveBigIntegerField(
        "largest file in bytes", default=50 * 2**20, validators=[MinValueValidator(1)]
    )

    finals_limit = models.PositiveIntegerField(
        "final entries of a team",
        default=2,
        validators=[MinValueValidator(1)],
        help_text="How many of its submissions a team may enter for the final scores.",
    )
    finals_started_at = models.DateTimeField(null=True, blank=True, editable=False)
    finals_enqueued_at = models.DateTimeField(null=True, blank=True, editable=False)
    finals_scored_at = models.DateTimeField(null=True, blank=True, editable=False)
    revealed_at = models.DateTimeField(null=True, blank=True, editable=False)
    unsealed_at = models.DateTimeField(null=True, blank=True, editable=False)

    schema = models.JSONField("prediction schema", default=dict)
    metric = models.CharField(max_length=40)
    metric_parameters = models.JSONField(default=dict, blank=True)
    mechanism = models.CharField(max_length=40)
    mechanism_parameters = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["closes_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(closes_at__gt=F("opens_at")),
                name="competition_closes_after_it_opens",
                violation_error_message="It must close after it opens.",
            ),
            models.CheckConstraint(
                condition=Q(daily_limit__gte=1)
                & (Q(total_limit__isnull=True) | Q(total_limit__gte=1))
                & Q(team_size__gte=1)
                & Q(max_file_bytes__gte=1)
                & Q(finals_limit__gte=1),
                name="competition_limits_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def paused_for(self) -> str:
        """Why its holdout answers nobody, a `Halt`; empty where it answers."""
        in_force = self.holdouts.filter(retired_at__isnull=True, state__halted_at__isnull=False)
        return in_force.values_list("state__halted_for", flat=True).first() or ""

    def phase(self, now: datetime) -> Phase:
        """Where the competition is in its life at the moment `now`."""
        if self.opened_by_organizer_at is None:
            return Phase.DRAFT
        if now < self.opens_at:
            return Phase.UPCOMING
        return Phase.OPEN if now < self.closes_at else Phase.CLOSED


class FileRole(models.TextChoices):
    TRAIN = "train", "Training data"
    TEST = "test", "Test data without labels"
    SAMPLE = "sample", "Sample submission"
    OTHER = "other", "Other"


class CompetitionFile(models.Model):
    """A public file of the data page. The sample submission fixes the row ids and their order."""

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    role = models.CharField(max_length=10, choices=FileRole.choices, default=FileRole.OTHER)
    description = models.CharField(max_length=300, blank=True)
    file = models.FileField(upload_to="files/")
    size = models.PositiveBigIntegerField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "name"], name="file_name_unique"),
            models.UniqueConstraint(
                fields=["competition"],
                condition=Q(role=FileRole.SAMPLE),
                name="one_sample_submission",
                violation_error_message="There is a sample submission already.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
