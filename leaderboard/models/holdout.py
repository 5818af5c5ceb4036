"""The sealed holdout and the head of its ledger."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition


class Rescore(models.TextChoices):
    """What is scored again after a correction."""

    BEST = "best", "Each team's best and the submissions that it chose for the end"
    ALL = "all", "All released submissions"
    NONE = "none", "None"


class Halt(models.TextChoices):
    """Why a holdout answers nobody."""

    REWOUND = "rewound", "The database does not know all that was released"
    MOVED_ROWS = "moved_rows", "Rows that were Public became Private"


class Holdout(models.Model):
    """A version of the private solution, sealed to the vault's public key.

    The file holds the labels and which row is in which set; both are secret. The counts are public:
    every certificate is a function of them. Weighted rows count as fewer plain ones (`effective`).
    The commitments are hidden by salts inside the seals; `opening` is what opens them, published
    after the end at the organizer's word; `opening_claimed_at` is when a worker took to writing it.

    A version that mends another after releases is a correction: `reason` says why in public,
    `rescore` what is scored again and `rescored` how many that were. `fits_at` is when a worker
    found that it holds back no row that gave answers before in another way.
    """

    competition = models.ForeignKey(Competition, models.PROTECT, related_name="holdouts")
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
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    rescore = models.CharField(max_length=10, choices=Rescore.choices, default=Rescore.NONE)
    rescored = models.PositiveIntegerField(default=0)
    fits_at = models.DateTimeField(null=True, blank=True)
    opening = models.FileField(upload_to="openings/", blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    opening_claimed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["competition", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["competition", "version"], name="holdout_version_unique"
            ),
            models.UniqueConstraint(
                fields=["competition"],
                condition=Q(retired_at__isnull=True),
                name="one_holdout_in_force",
            ),
            models.CheckConstraint(condition=Q(private_rows__gte=1), name="holdout_has_rows"),
        ]

    def __str__(self) -> str:
        return f"{self.competition.slug} v{self.version}"

    @property
    def ledger_name(self) -> str:
        """What the rewind guard calls this holdout's ledger, over all corrections."""
        return self.state.name_for(self)

    @property
    def is_unchecked(self) -> bool:
        """Whether it is a correction that no worker has compared with the versions before."""
        return bool(self.reason) and self.fits_at is None


class HoldoutState(models.Model):
    """The ledger's head, one row per holdout; only `pipeline.release` writes it.

    `asked` is the theory's i, `answered` its f, `log_alphabets` its ln G, `firings` the index of
    the noisy threshold in force. `version` rises with every change, so that none is lost. `guarded`
    says that the counter outside the database knows this ledger, under the name `ledger`: the first
    version's commitment. `releases` numbers all entries, and goes on over corrections. A holdout
    that is `halted` answers nobody until that is mended.
    """

    holdout = models.OneToOneField(Holdout, models.PROTECT, related_name="state", primary_key=True)
    version = models.PositiveBigIntegerField(default=0)
    asked = models.PositiveBigIntegerField(default=0)
    answered = models.PositiveBigIntegerField(default=0)
    log_alphabets = models.FloatField(default=0.0)
    firings = models.PositiveBigIntegerField(default=0)
    budget_left = models.PositiveIntegerField(null=True)
    releases = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, blank=True)
    guarded = models.BooleanField(default=False)
    ledger = models.CharField(max_length=64, blank=True)
    halted_at = models.DateTimeField(null=True, blank=True)
    halted_for = models.CharField(max_length=12, choices=Halt.choices, blank=True)
    halted_because = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answered__lte=models.F("asked")), name="ledger_answers_were_asked"
            ),
            models.CheckConstraint(
                condition=Q(halted_at__isnull=True, halted_for="")
                | Q(halted_at__isnull=False, halted_for__in=Halt.values),
                name="halted_for_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"ledger of {self.holdout_id}"

    def name_for(self, holdout: Holdout) -> str:
        """The ledger's name, where the holdout is at hand already."""
        return self.ledger or holdout.solution_commitment


class NoteKind(models.TextChoices):
    CORRECTION = "correction", "The solution was corrected"
    WRITE_OFF = "write_off", "Lost answers were written off"


class LedgerNote(models.Model):
    """An entry of the public ledger that is no answer, never changed.

    `document` is what is published and hashed; numbers and hashes are of one chain with the
    releases'. A correction is the first entry of its version.
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
