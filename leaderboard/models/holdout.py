"""The ledger of a set of rows, and the sealed revisions of its solution."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.round import Board, new_uid
from leaderboard.platform.statements import prepared


class Rescore(models.TextChoices):
    """What is scored again after a revision."""

    BEST = "best", "Each team's best and the submissions that it selected for the finals"
    ALL = "all", "All released submissions"
    NONE = "none", "None"


class Pause(models.TextChoices):
    """Why a ledger answers nobody."""

    REWOUND = "rewound", "The database does not know all that was released"
    MOVED_ROWS = "moved_rows", "Rows that were Public became Private"
    MOVED = "moved", "It goes on at another installation"
    ARCHIVED = "archived", "It was imported without its secrets"


class Ledger(models.Model):
    """The one count of what a set of rows has answered, over all boards, rounds and revisions.

    Only `leaderboard.ledger` writes it. `asked` is the theory's i, `answered` its f,
    `log_alphabets` its ln G. `entries` numbers all entries, `head_hash` is the newest one's.
    `version` rises with every change, so that none is lost. `watermarked` records that the counter
    outside the database knows this ledger, by its `uid`. A paused ledger answers nobody until that
    is repaired.

    `law` is the version of the laws by which its answers are charged, `law_weight` the part of the
    count in their mixture, and `account` what they have come to; a ledger without one is charged by
    the count alone. The limits are those of the round that it began with. On one that is `by_team`,
    each team has its own account and an equal part of beta.
    """

    competition = models.ForeignKey("Competition", models.PROTECT, related_name="ledgers")
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    version = models.PositiveBigIntegerField(default=0)
    asked = models.PositiveBigIntegerField(default=0)
    answered = models.PositiveBigIntegerField(default=0)
    log_alphabets = models.FloatField(default=0.0)
    entries = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, blank=True)
    law = models.CharField(max_length=20, blank=True)
    law_weight = models.CharField(max_length=20, blank=True)
    question_limit = models.PositiveBigIntegerField(null=True)
    team_limit = models.PositiveIntegerField(null=True)
    nats_limit = models.PositiveIntegerField(null=True)
    gate_limit = models.PositiveIntegerField(null=True)
    by_team = models.BooleanField(default=False)
    account = models.JSONField(default=dict)
    watermarked = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_for = models.CharField(max_length=12, choices=Pause.choices, blank=True)
    paused_because = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answered__lte=models.F("asked")), name="ledger_answers_were_asked"
            ),
            models.CheckConstraint(
                condition=Q(paused_at__isnull=True, paused_for="")
                | Q(paused_at__isnull=False, paused_for__in=Pause.values),
                name="paused_for_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"ledger {self.uid}"

    @property
    def active_holdout(self) -> "Holdout | None":
        """Return the sealed solution that answers now; None without one."""
        for found in _active_holdouts(ledger=self.pk):
            found.ledger = self
            return found
        return None


class BoardState(models.Model):
    """What a board's mechanism keeps of a ledger; only `leaderboard.ledger` writes it.

    `firings` is the index of the noisy threshold that is active.
    """

    ledger = models.ForeignKey(Ledger, models.PROTECT, related_name="board_states")
    board = models.OneToOneField(Board, models.PROTECT, related_name="state")
    firings = models.PositiveBigIntegerField(default=0)
    budget_left = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"state of board {self.board_id}"


class HoldoutQuerySet(models.QuerySet["Holdout"]):
    """Revisions of solutions."""

    def active(self) -> Self:
        """Return those that answer now: at most one for each ledger."""
        return self.filter(retired_at__isnull=True)


class Holdout(models.Model):
    """A revision of the private solution, sealed to the vault's public key.

    The file holds the labels and which row is in which set; both are secret. The counts are public:
    every guarantee is a function of them. Weighted rows count as fewer plain ones (`effective`);
    `designs` says what intervals count rows in groups as, by set.
    The commitments are hidden by salts inside the seals; `publication` is the archive that shows
    what they commit to, made after the end at the organizer's word; `publication_claimed_at` is
    when a worker took to writing it.

    One that repairs another after releases has a public `reason`; `rescore` is what is scored again
    and `rescored` how many that were. `fits_at` is when a worker found that it holds back no row
    that gave answers before in another way.
    """

    ledger = models.ForeignKey(Ledger, models.PROTECT, related_name="holdouts")
    version = models.PositiveIntegerField()
    sealed_solution = models.FileField(upload_to="vault/")
    sealed_secret = models.BinaryField()
    solution_commitment = models.CharField(max_length=64)
    secret_commitment = models.CharField(max_length=64)
    row_ids_digest = models.CharField(max_length=64)
    public_rows = models.PositiveIntegerField()
    private_rows = models.PositiveIntegerField()
    final_rows = models.PositiveIntegerField()
    ignored_rows = models.PositiveIntegerField()
    effective_public_rows = models.PositiveIntegerField()
    effective_private_rows = models.PositiveIntegerField()
    designs = models.JSONField(default=dict)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    rescore = models.CharField(max_length=10, choices=Rescore.choices, default=Rescore.NONE)
    rescored = models.PositiveIntegerField(default=0)
    fits_at = models.DateTimeField(null=True, blank=True)
    publication = models.FileField(upload_to="publications/", blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    publication_claimed_at = models.DateTimeField(null=True, blank=True)

    objects = HoldoutQuerySet.as_manager()

    class Meta:
        ordering = ["ledger", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["ledger", "version"], name="holdout_version_unique"),
            models.UniqueConstraint(
                fields=["ledger"],
                condition=Q(retired_at__isnull=True),
                name="one_active_holdout",
            ),
            models.CheckConstraint(condition=Q(private_rows__gte=1), name="holdout_has_rows"),
        ]

    def __str__(self) -> str:
        return f"{self.ledger.competition.slug} v{self.version}"

    @property
    def is_unchecked(self) -> bool:
        """Return whether no worker has compared this revision with the ones before."""
        return bool(self.reason) and self.fits_at is None


@prepared
def _active_holdouts(ledger: int) -> models.QuerySet[Holdout]:
    return Holdout.objects.active().filter(ledger=ledger).order_by()


class NoteKind(models.TextChoices):
    """What a note of the ledger reports."""

    REVISION = "revision", "The solution was revised"
    MERGE = "merge", "A team was merged into another"
    WRITE_OFF = "write_off", "Lost answers were written off"
    TOP_UP = "top_up", "The budget of a board was raised"
    DUEL = "duel", "Two files were compared on the private rows"
    GATE = "gate", "A gate answered yes or no"


class LedgerNote(models.Model):
    """An entry of the public ledger that is no answer, never changed.

    `document` is what is published and hashed; numbers and hashes are of one chain with the
    releases'. A revision is the first entry of its holdout.
    """

    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="notes")
    number = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=12, choices=NoteKind.choices)
    document = models.JSONField()
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["holdout", "number"]
        constraints = [
            models.UniqueConstraint(fields=["holdout", "number"], name="note_number_unique"),
            models.CheckConstraint(condition=Q(kind__in=NoteKind.values), name="note_kind_known"),
        ]

    def __str__(self) -> str:
        return f"note {self.number} of {self.holdout_id}"
