"""What a competition is set up with: staged uploads, what files proposed, and trials of a draft."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.round import Round, new_uid
from leaderboard.models.submission import FINAL, Status
from leaderboard.models.team import Team


class StagedFile(models.Model):
    """A public file that was uploaded for a competition to come; of its sender alone, for a day."""

    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="staged_files")
    name = models.CharField(max_length=120)
    file = models.FileField(upload_to="staged/")
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class QuickSetup(models.Model):
    """What dropped files proposed for a round, and how the server splits its rows.

    `facts`: reasons by field, the ways to split, the one that was taken, the column of labels where
    predictions are probabilities of its classes, and the constant baseline. `wanted` is another
    split or kind of prediction that a worker is to write into the sealed solution, `failure` why it
    could not.
    """

    round = models.OneToOneField(Round, models.CASCADE, related_name="quick")
    facts = models.JSONField(default=dict)
    wanted = models.JSONField(null=True)
    wanted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    failure = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"files of {self.round}"


class TrialLedger(models.Model):
    """The scratch ledger of a draft's trials: a secret of its own, and what the boards know.

    It is thrown away at the opening, and begun anew once the solution or a board asks something
    else: `basis` is what it was begun for. `state` has the heads of all boards, the account, and
    what they know of the one team that tries.
    """

    round = models.OneToOneField(Round, models.CASCADE, related_name="trial_ledger")
    basis = models.CharField(max_length=64)
    sealed_secret = models.BinaryField()
    secret_commitment = models.CharField(max_length=64)
    state = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"trials of {self.round}"


class TrialKind(models.TextChoices):
    """What a trial submission is."""

    OWN = "own", "Uploaded"
    CONSTANT = "constant", "The best constant prediction"
    SAMPLE = "sample", "The sample submission"


class Trial(models.Model):
    """A file that an organizer tries in a draft, and what the boards would say of it.

    It is for the competition's owners and editors alone. `answers` has what the mechanism gave, by
    the board's uid, and `basis` of which scratch ledger; nothing else was measured. One with
    `is_baseline` becomes an entry of the real ledger once the round takes files; until then its row
    stays, without what the trial was told.
    """

    round = models.ForeignKey(Round, models.CASCADE, related_name="trials")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=10, choices=TrialKind.choices, default=TrialKind.OWN)
    title = models.CharField(max_length=60)
    file = models.FileField(upload_to="trials/")
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    claimed_score = models.FloatField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    problems = models.JSONField(default=list, blank=True)
    problem_count = models.PositiveIntegerField(default=0)
    failure = models.CharField(max_length=200, blank=True)
    answers = models.JSONField(default=dict)
    basis = models.CharField(max_length=64, blank=True)
    is_baseline = models.BooleanField(default=False)
    team = models.ForeignKey(Team, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=Status.values), name="trial_status_known"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=False) | ~Q(status__in=FINAL),
                name="trial_ends_at_a_moment",
            ),
            models.UniqueConstraint(
                fields=["round", "kind"],
                condition=~Q(kind=TrialKind.OWN),
                name="one_trial_of_each_baseline",
            ),
        ]

    def __str__(self) -> str:
        return self.title
