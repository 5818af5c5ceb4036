"""Competitions, the people who run them, and the files that participants download."""

from datetime import datetime

from django.conf import settings
from django.core.validators import MaxLengthValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from leaderboard.models.round import Board, Phase, Round, new_uid
from leaderboard.platform.statements import fill, prepared

# Markdown is rendered at every view: what an organizer types must not take seconds.
PAGE_LENGTH = MaxLengthValidator(40_000)


class Visibility(models.TextChoices):
    """Who may know of a competition."""

    PUBLIC = "public", "Public: everyone sees it"
    INVITED = "invited", "Invited: only invited people and members see it"
    HIDDEN = "hidden", "Hidden: only its organizers see it"


class Competition(models.Model):
    """A question with its pages and people; its rounds hold what is asked, and when.

    Its log names it by `uid`. `opened_by_organizer_at` is set once, when the checklist was green;
    until then it is a draft that nobody but its organizers sees. Clones and what they were cloned
    from share a `family`. With a `join_code` only those join who know it or were invited.
    """

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
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
        settings.AUTH_USER_MODEL, through="Organizer", related_name="organized_competitions"
    )
    invited = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="invited_to_competitions", blank=True
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    join_code = models.CharField(max_length=20, blank=True, editable=False)
    team_size = models.PositiveIntegerField(
        "members of a team", default=4, validators=[MinValueValidator(1)]
    )
    family = models.CharField(max_length=32, blank=True, editable=False)
    opened_by_organizer_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(condition=Q(team_size__gte=1), name="team_size_positive"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def current_round(self) -> Round:
        """Return the latest round that has begun, or the first one; without a solution none begins.

        Rounds and boards are read once for each instance, and again after `refresh_from_db`.
        """
        return self.round_at(timezone.now())

    def round_at(self, moment: datetime) -> Round:
        """Return the round that was current at a moment, as `current_round` does."""
        rounds = self.all_rounds
        begun = (each for each in reversed(rounds) if each.opens_at <= moment and each.ledger_id)
        return next(begun, rounds[0])

    @property
    def all_rounds(self) -> list[Round]:
        """Return the rounds in their order; see `current_round`."""
        if "rounds" not in getattr(self, "_prefetched_objects_cache", {}):
            self._read_rounds()
        return list(self.rounds.all())

    def _read_rounds(self) -> None:
        rounds, boards = _rounds(competition=self.pk), _boards(competition=self.pk)
        ledgers = {round.ledger_id: round.ledger for round in rounds}
        for round in rounds:
            round.ledger = ledgers[round.ledger_id]  # one object for rounds that share one
            fill(round, "boards", [board for board in boards if board.round_id == round.pk])
        fill(self, "rounds", rounds)

    @property
    def hiding_round(self) -> Round | None:
        """Return a round that has begun in which teams may know nothing of each other yet."""
        last = self.current_round.number
        begun = (each for each in self.rounds.all() if each.number <= last)
        return next((each for each in begun if each.hides_others), None)

    @property
    def hides_others(self) -> bool:
        """Return whether teams may know nothing of each other yet."""
        return self.hiding_round is not None

    def phase(self, now: datetime) -> Phase:
        """Return where the competition is in its life at the moment `now`."""
        return self.current_round.phase(now)


@prepared
def _rounds(competition: int) -> models.QuerySet[Round]:
    rounds = Round.objects.filter(competition=competition)
    return rounds.select_related("ledger").order_by("number")


@prepared
def _boards(competition: int) -> models.QuerySet[Board]:
    return Board.objects.filter(round__competition=competition).order_by("position")


class Role(models.TextChoices):
    """What an organizer may do."""

    OWNER = "owner", "Owner: everything, people included"
    EDITOR = "editor", "Editor: texts, data, scoring, running"
    JUDGE = "judge", "Judge: people, disqualification, finals"
    VIEWER = "viewer", "Viewer: looks on"


class Organizer(models.Model):
    """A person who runs a competition, in a role."""

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="roles")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.OWNER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "user"], name="one_role_per_person"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class FileRole(models.TextChoices):
    """What a public file is."""

    TRAIN = "train", "Training data"
    TEST = "test", "Test data without labels"
    SAMPLE = "sample", "Sample submission"
    OTHER = "other", "Other"


class CompetitionFile(models.Model):
    """A public file of a round's data. The sample submission fixes the row ids and their order."""

    round = models.ForeignKey(Round, models.CASCADE, related_name="files")
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
            models.UniqueConstraint(fields=["round", "name"], name="file_name_unique"),
            models.UniqueConstraint(
                fields=["round"],
                condition=Q(role=FileRole.SAMPLE),
                name="one_sample_submission",
                violation_error_message="There is a sample submission already.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
