"""What the mechanism said, and where it put the teams."""

from django.db import models
from django.db.models import Q

from leaderboard.models.holdout import Holdout
from leaderboard.models.round import Board
from leaderboard.models.submission import Submission
from leaderboard.models.team import Team
from scoring.mechanisms.kinds import EXHAUSTED, LIMIT

# Answers that say nothing are not kept: the same file may be answered later.
UNANSWERED = tuple(kind.code for kind in (EXHAUSTED, LIMIT))


class Release(models.Model):
    """One answer of the mechanism: an entry of the holdout's public ledger, never changed.

    `submission_number` is the number that the submission had then; a merge of teams gives it
    another. `kind` is the code of an answer kind of the board's mechanism. The released loss is
    `level / steps` (lower is better); `reference_level` is the score on the
    Public rows. `width` is the ledger's confidence width at this question, `tolerance` what else
    lies between the shown loss and the rows' mean, `certificate` their sum, or null for "no
    guarantee". `low` and `high` are the interval of the loss as it was shown, by the bound of that
    name; null where nothing was promised. `repeat_of` marks a question asked before, whose stored
    answer this is.
    `cost` is by how much the answer lengthened the code of its account, in millionths of a nat, as
    follows from what is public; null on a ledger without laws, and of older answers.
    `length` is what the ledger's laws charge for everything that was answered before, L in
    millionths of a nat, and `public_loss` the exact loss on the Public rows, units/whole, that they
    read. `is_baseline`: the team was a baseline then, and took nothing from the budget.
    `runs` of a model may be behind a file, and `spread` is the standard deviation of their scores
    on the Public rows; null where nothing is known of it.
    `answered`, `log_alphabets`, `firings` and `budget_left` are the ledger's head after it.
    `predictions_tag` stands for the predictions in public; their digest stays here, and is empty
    for an answer that was replayed from the published ledger.
    """

    submission = models.ForeignKey(Submission, models.PROTECT, related_name="releases")
    holdout = models.ForeignKey(Holdout, models.PROTECT, related_name="releases")
    board = models.ForeignKey(Board, models.PROTECT, related_name="releases")
    team = models.ForeignKey(Team, models.PROTECT, related_name="releases")
    submission_number = models.PositiveIntegerField()
    number = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=12)
    level = models.PositiveIntegerField(null=True)
    reference_level = models.PositiveIntegerField(null=True)
    steps = models.PositiveIntegerField()
    width = models.FloatField()
    tolerance = models.FloatField()
    certificate = models.FloatField(null=True)
    bound = models.CharField(max_length=20, blank=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    asked = models.PositiveBigIntegerField()
    share_left = models.PositiveIntegerField(null=True)
    answered = models.PositiveBigIntegerField()
    log_alphabets = models.FloatField()
    firings = models.PositiveBigIntegerField()
    budget_left = models.PositiveIntegerField(null=True)
    length = models.PositiveBigIntegerField(null=True)
    cost = models.BigIntegerField(null=True)
    public_loss = models.CharField(max_length=50, blank=True)
    runs = models.PositiveSmallIntegerField(default=1)
    spread = models.FloatField(null=True)
    is_baseline = models.BooleanField(default=False)
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
                fields=["submission", "holdout", "board"], name="one_release_per_submission"
            ),
            models.UniqueConstraint(
                fields=["holdout", "board", "team", "predictions_tag", "question"],
                condition=Q(repeat_of__isnull=True) & ~Q(kind__in=UNANSWERED),
                name="question_answered_once",
            ),
            models.UniqueConstraint(
                fields=["holdout", "team", "predictions_tag"],
                condition=Q(repeat_of__isnull=True, length__isnull=False),
                name="predictions_answered_once",
            ),
            models.CheckConstraint(
                condition=Q(level__isnull=True) | Q(level__lte=models.F("steps")),
                name="release_on_its_grid",
            ),
        ]
        indexes = [models.Index(fields=["board", "team", "number"], name="release_of_team")]

    def __str__(self) -> str:
        return f"release {self.number} of {self.holdout_id}"


class Standing(models.Model):
    """A team's row of a board, made of released values only.

    `loss` is the team's best released loss, null as long as nothing was released; `reached_at`, the
    moment at which the file that reached it was accepted, breaks ties: who was first stands above.
    `entries` are the files that were scored, `variants` those of them that predict something else.
    One that is not ranked is the row of a baseline, or of a team under a sanction.

    `low` is the lower end of the interval that was stored with the loss; null where nothing was
    promised. `curve` has the moments, in seconds, and the losses of the best scores so far.
    `place_before` is the place that the team had at the beginning of `moved_on`, the last day (UTC)
    on which its row moved; null where it had none. Only `ledger.levels` writes these four.
    """

    board = models.ForeignKey(Board, models.CASCADE, related_name="standings")
    team = models.ForeignKey(Team, models.CASCADE, related_name="standings")
    loss = models.FloatField(null=True)
    best = models.ForeignKey(Release, models.PROTECT, null=True, related_name="+")
    last = models.ForeignKey(Release, models.PROTECT, related_name="+")
    reached_at = models.DateTimeField()
    entries = models.PositiveIntegerField(default=0)
    variants = models.PositiveIntegerField(default=0)
    is_ranked = models.BooleanField(default=True)
    low = models.FloatField(null=True)
    curve = models.JSONField(default=list)
    moved_on = models.DateField(null=True)
    place_before = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = [models.F("loss").asc(nulls_last=True), "reached_at", "id"]
        indexes = [
            models.Index(fields=["board", "loss", "reached_at", "id"], name="board_order"),
            models.Index(fields=["board", "low"], name="board_ends"),
            models.Index(fields=["board"], condition=Q(is_ranked=False), name="board_unranked"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["board", "team"], name="one_standing_per_board"),
            models.CheckConstraint(
                condition=Q(loss__isnull=True) | (Q(loss__gte=0) & Q(loss__lte=1)),
                name="standing_loss_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"standing of {self.team_id}"


class LevelCount(models.Model):
    """How many teams stand on a level of a board, from a moment on to the level's next count.

    Places come from these, so that no page counts rows. `loss` and `since` are a `Standing`'s loss
    and `reached_at`. Only `ledger.levels` writes it, under the ledger's lock.
    """

    board = models.ForeignKey(Board, models.CASCADE, related_name="level_counts")
    loss = models.FloatField(null=True)
    since = models.DateTimeField()
    teams = models.PositiveIntegerField()

    class Meta:
        ordering = [models.F("loss").asc(nulls_last=True), "since"]
        constraints = [
            models.UniqueConstraint(fields=["board", "loss", "since"], name="one_count_per_level"),
            models.UniqueConstraint(
                fields=["board", "since"],
                condition=Q(loss__isnull=True),
                name="one_count_without_score",
            ),
            models.CheckConstraint(condition=Q(teams__gte=1), name="level_is_taken"),
        ]

    def __str__(self) -> str:
        return f"{self.teams} at {self.loss}"


class DayStart(models.Model):
    """How many teams stood on each level of a board when a day (UTC) began.

    `counts` are pairs of a loss and its teams, best first; null for teams without a score. Kept for
    the last day on which a row moved: since then the board stands as it is.
    """

    board = models.OneToOneField(Board, models.CASCADE, related_name="day_start")
    day = models.DateField()
    counts = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.board} on {self.day}"
