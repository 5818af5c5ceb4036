"""What happened in a competition, one row for each change."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from leaderboard.models.competition import Competition


class Audience(models.TextChoices):
    """Who may read an event."""

    PUBLIC = "public", "Everyone who may see the competition"
    TEAM = "team", "The team it is about, and the organizers"
    ORGANIZERS = "organizers", "The organizers"


class EventKind(models.TextChoices):
    """What can happen in a competition."""

    OPENED = "opened", "The competition was opened"
    RETURNED_TO_DRAFT = "returned_to_draft", "The opening was taken back"
    ROUND_ADDED = "round_added", "A round was added"
    ROUND_REMOVED = "round_removed", "A round that had not begun was removed"
    CLOSED = "closed", "The round was closed before its time"
    DEADLINE_CHANGED = "deadline_changed", "The deadline was moved"
    LIMIT_CHANGED = "limit_changed", "A limit was changed"
    RULES_CHANGED = "rules_changed", "The rules were changed"
    SCORING_CHANGED = "scoring_changed", "Columns, metric or mechanism were changed"
    SOLUTION_SEALED = "solution_sealed", "A solution was sealed"
    REVISED = "revised", "The solution was revised"
    PAUSED = "paused", "The ledger was paused"
    RESUMED = "resumed", "The ledger was resumed"
    DEADLINE_NEAR = "deadline_near", "The deadline is near"
    LEADERS_CHANGED = "leaders_changed", "The first places of a board changed"
    FINALS_STARTED = "finals_started", "The finals were started"
    REVEALED = "revealed", "The final board was revealed"
    PUBLICATION = "publication", "Solution and secret are published"
    BOARD_ADDED = "board_added", "A board was added"
    TEXTS_CHANGED = "texts_changed", "The pages were changed"
    FILES_CHANGED = "files_changed", "The files of the data page were changed"
    ANNOUNCED = "announced", "Something was announced"
    PRACTICE_CHANGED = "practice_changed", "Practice was opened or closed"
    TRIED = "tried", "A trial submission was sent"
    TEAM_CREATED = "team_created", "A team was created"
    TEAM_RENAMED = "team_renamed", "A team was renamed"
    TEAM_MERGED = "team_merged", "A team was merged into another"
    MEMBER_JOINED = "member_joined", "A person joined a team"
    MEMBER_LEFT = "member_left", "A person left a team"
    MEMBER_REMOVED = "member_removed", "A captain removed a person from a team"
    CAPTAIN_CHANGED = "captain_changed", "A team has another captain"
    MERGE_ASKED = "merge_asked", "A team asked another one to merge"
    MERGE_DECLINED = "merge_declined", "A team declined to merge"
    SUBMISSION_ACCEPTED = "submission_accepted", "A submission was accepted"
    SUBMISSION_REJECTED = "submission_rejected", "A submission was rejected"
    SUBMISSION_RELEASED = "submission_released", "A submission was scored"
    SUBMISSION_REQUEUED = "submission_requeued", "A failed submission was queued again"
    SUBMISSION_EXCLUDED = "submission_excluded", "A submission was disqualified or hidden"
    CAMPAIGN_CHANGED = "campaign_changed", "A campaign was begun, limited or ended"
    SELECTED = "selected", "A team selected final entries"
    BASELINE_CHANGED = "baseline_changed", "A team was marked as baseline, or not any more"
    TEAM_VERIFIED = "team_verified", "A team was marked as verified, or not any more"
    DISQUALIFIED = "disqualified", "A team was disqualified, or not any more"
    TEAM_HIDDEN = "team_hidden", "A team was hidden, or shown again"
    QUOTA_ADDED = "quota_added", "A team was given more submissions"
    INVITED = "invited", "People were invited"
    ACCESS_CHANGED = "access_changed", "Who may join was changed"
    HIDDEN = "hidden", "The visibility was changed"
    BUDGET_ADDED = "budget_added", "The budget was raised"
    ORGANIZER_ADDED = "organizer_added", "An organizer was added"
    ORGANIZER_REMOVED = "organizer_removed", "An organizer was removed"
    WEBHOOK_CHANGED = "webhook_changed", "A webhook was changed"
    GATE_MADE = "gate_made", "A gate was made"
    GATE_RETIRED = "gate_retired", "A gate was retired"
    EXPORTED = "exported", "The competition was exported"
    SECRETS_EXPORTED = "secrets_exported", "The secrets were exported, sealed"
    IMPORTED = "imported", "The competition was imported"
    CLONED = "cloned", "The competition was cloned"
    LEDGER_MOVED = "ledger_moved", "The ledger was closed here and moved away"


# What is asked for by its kind alone, among all that happened.
SOUGHT = (EventKind.DEADLINE_NEAR, EventKind.LEADERS_CHANGED)


class Event(models.Model):
    """A change, written in the transaction that made it, numbered for each competition.

    `subjects` name what it is about by permanent ids (team, board, ledger) and numbers (round,
    submission); `data` is what else of it may be known to its audience.
    """

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="+")
    number = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=24, choices=EventKind.choices)
    audience = models.CharField(max_length=10, choices=Audience.choices)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    subjects = models.JSONField(default=dict)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["competition", "number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="event_number_unique"),
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="event_kind_known"),
            models.CheckConstraint(
                condition=Q(audience__in=Audience.values), name="event_audience_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["competition", "kind", "-number"],
                condition=Q(kind__in=SOUGHT),
                name="events_sought",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.kind}"


class EventCount(models.Model):
    """The number of a competition's newest event: the last lock that any transaction takes.

    With it stands how long the competition's log is, and the hashes that it grows from. `forgets`:
    an opening was deleted that the journal outside the database still has.
    """

    competition = models.OneToOneField(
        Competition, models.CASCADE, related_name="event_count", primary_key=True
    )
    number = models.PositiveBigIntegerField(default=0)
    log_size = models.PositiveBigIntegerField(default=0)
    log_hashes = models.JSONField(default=list)
    forgets = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.number} events"
