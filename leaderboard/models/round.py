"""Rounds: stretches of a competition, each with boards of its own."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from scoring import mechanisms, metrics

if TYPE_CHECKING:
    from leaderboard.models.holdout import Holdout


class Phase(models.TextChoices):
    """Where a round is in its life."""

    DRAFT = "draft", "Draft"
    UPCOMING = "upcoming", "Opens soon"
    OPEN = "open", "Open"
    CLOSED = "closed", "Closed"


class Round(models.Model):
    """A stretch of a competition with its own times, limits, files and boards.

    A competition of one round never shows the word. `closes_at` is null for a round without an end;
    `announced_closes_at` is when it was to close, where an organizer closed it earlier, for good.
    A round asks the rows of its own `ledger`, or goes on with those of the round before
    (`continues`), and then with its ledger, sample and files.

    After it closed come the finals: `finals_started_at` ends all submitting and selecting,
    `finals_scored_at` records that every final score is there, `revealed_at` shows them to
    everyone, and `publication_at` is the organizer's word to publish solution and secret.
    `practice_opened_at` lets teams go on submitting after the reveal, outside the ranking, and
    `code_before_practice` is what the ledger's answers had come to until then, in nats.
    `finals_enqueued_at` is when workers were last asked for final scores that are missing,
    `places_claimed_at` when one took to comparing them. On rows
    that several rounds share, all of this happens once, in the last of them.

    `question_limit`, `team_limit`, `nats_limit`, `gate_limit` and `is_hidden` are what its ledger
    begins with, for good. A board that is hidden until the end shows each team its own answers and
    nothing of others.
    """

    competition = models.ForeignKey("Competition", models.CASCADE, related_name="rounds")
    number = models.PositiveIntegerField(default=1)
    title = models.CharField(max_length=120, blank=True)
    continues = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="continued_by"
    )
    ledger = models.ForeignKey(
        "Ledger", models.PROTECT, null=True, blank=True, related_name="rounds"
    )
    opens_at = models.DateTimeField("opens")
    closes_at = models.DateTimeField("closes", null=True, blank=True)
    announced_closes_at = models.DateTimeField(null=True, blank=True, editable=False)

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
    max_file_bytes = models.PositiveBigIntegerField(
        "largest file in bytes", default=50_000_000, validators=[MinValueValidator(1)]
    )

    finals_limit = models.PositiveIntegerField(
        "final entries of a team",
        default=2,
        validators=[MinValueValidator(1)],
        help_text="How many of its submissions a team may select for the final scores.",
    )
    finals_started_at = models.DateTimeField(null=True, blank=True, editable=False)
    finals_enqueued_at = models.DateTimeField(null=True, blank=True, editable=False)
    places_claimed_at = models.DateTimeField(null=True, blank=True, editable=False)
    finals_scored_at = models.DateTimeField(null=True, blank=True, editable=False)
    revealed_at = models.DateTimeField(null=True, blank=True, editable=False)
    publication_at = models.DateTimeField(null=True, blank=True, editable=False)
    practice_opened_at = models.DateTimeField(null=True, blank=True, editable=False)
    code_before_practice = models.FloatField(null=True, editable=False)

    question_limit = models.PositiveBigIntegerField(
        "questions in all",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="For all teams together, on all boards. Empty: no limit.",
    )
    team_limit = models.PositiveIntegerField(
        "teams at most", null=True, blank=True, validators=[MinValueValidator(1)]
    )
    nats_limit = models.PositiveIntegerField(
        "nats a team may cost",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="How much a team's answers may tell of the private rows. Empty: no limit.",
    )
    gate_limit = models.PositiveIntegerField(
        "gates answered at most",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Yes-or-no questions of programs, for all teams together; half of what may be "
        "wrong is kept for them. Empty: none.",
    )
    is_hidden = models.BooleanField("hidden until the end", default=False)

    schema = models.JSONField("prediction schema", default=dict)

    class Meta:
        ordering = ["competition", "number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="round_number_unique"),
            models.CheckConstraint(
                condition=Q(closes_at__isnull=True) | Q(closes_at__gt=F("opens_at")),
                name="round_closes_after_it_opens",
                violation_error_message="It must close after it opens.",
            ),
            models.CheckConstraint(
                condition=Q(daily_limit__gte=1)
                & (Q(total_limit__isnull=True) | Q(total_limit__gte=1))
                & Q(max_file_bytes__gte=1)
                & Q(finals_limit__gte=1)
                & (Q(question_limit__isnull=True) | Q(question_limit__gte=1))
                & (Q(team_limit__isnull=True) | Q(team_limit__gte=1))
                & (Q(nats_limit__isnull=True) | Q(nats_limit__gte=1))
                & (Q(gate_limit__isnull=True) | Q(gate_limit__gte=1)),
                name="round_limits_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"{self.competition} {self.number}"

    @property
    def origin(self) -> Round:
        """Return the round that brought the rows, and with them the files."""
        return self.continues.origin if self.continues else self

    @property
    def board(self) -> Board:
        """Return the first board, which ranks."""
        return self.boards.all()[0]

    @property
    def hides_others(self) -> bool:
        """Return whether teams may know nothing of each other yet."""
        return self.is_hidden and self.revealed_at is None

    @property
    def takes_practice(self) -> bool:
        """Return whether teams may submit outside the ranking; publication ends that."""
        return self.practice_opened_at is not None and self.publication_at is None

    @property
    def active_holdout(self) -> Holdout | None:
        """Return the sealed solution that answers now; None without one."""
        return self.ledger.active_holdout if self.ledger else None

    @property
    def paused_for(self) -> str:
        """Return why its ledger answers nobody, a `Pause`; empty where it answers."""
        return self.ledger.paused_for if self.ledger else ""

    def phase(self, now: datetime) -> Phase:
        """Return where the round is in its life at the moment `now`."""
        if self.competition.opened_by_organizer_at is None:
            return Phase.DRAFT
        if now < self.opens_at:
            return Phase.UPCOMING
        return Phase.OPEN if self.closes_at is None or now < self.closes_at else Phase.CLOSED


def new_uid() -> str:
    """Draw a random permanent id: what ledgers, exports and noise keys name a thing by."""
    return secrets.token_hex(16)


class Board(models.Model):
    """A metric with a mechanism in a round. The first board ranks; further ones are columns.

    `finalists` is how many entries got a final score, once all are there. `same_as` is the board of
    an earlier round on the same ledger that asks the same: a file that it has answered gets that
    answer. `announced` is half the width of what the board guaranteed when it opened, as a score.
    """

    round = models.ForeignKey(Round, models.CASCADE, related_name="boards")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    position = models.PositiveIntegerField(default=0)
    title = models.CharField(max_length=120, blank=True)
    metric = models.CharField(max_length=40)
    metric_parameters = models.JSONField(default=dict, blank=True)
    mechanism = models.CharField(max_length=40)
    mechanism_parameters = models.JSONField(default=dict, blank=True)
    same_as = models.ForeignKey(
        "self", models.PROTECT, null=True, editable=False, related_name="asked_again"
    )
    announced = models.FloatField(null=True, editable=False)
    finalists = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["round", "position"]
        constraints = [
            models.UniqueConstraint(fields=["round", "position"], name="board_position_unique"),
        ]

    def __str__(self) -> str:
        return self.title or self.metric

    @property
    def known_as(self) -> str:
        """Return the id that names its questions, in noise and tags."""
        return self.same_as.uid if self.same_as else self.uid

    @property
    def takes_claims(self) -> bool:
        """Return whether every file comes with a claimed score, which the mechanism checks."""
        mechanism = mechanisms.MECHANISMS.get(self.mechanism)
        if mechanism is None:
            return False
        return mechanism.reference(mechanism.parse(self.mechanism_parameters)) == "claim"

    def claimed_loss(self, claimed: float) -> float:
        """Return a claimed score as a loss in [0, 1]."""
        metric = metrics.get(self.metric)
        return metric.loss(claimed, metric.parse(self.metric_parameters))
