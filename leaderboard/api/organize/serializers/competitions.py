"""What organizers see of a competition, and the settings that they write."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from rest_framework import serializers

from leaderboard import access, queries
from leaderboard.api.serializers.base import Body, Json, Out
from leaderboard.api.serializers.boards import BoardGuarantee
from leaderboard.api.serializers.competitions import PredictionSchema
from leaderboard.models import Competition, Phase, Role, Round, User, Visibility
from leaderboard.organize.fields import OF_COMPETITION, OF_ROUND
from leaderboard.organize.settings import fixed_settings
from leaderboard.queries.finals import Stage


def _limit(text: str) -> Any:
    return serializers.IntegerField(required=False, allow_null=True, help_text=text)


class SettingsBody(Body):
    """Settings; what is left out stays as it is."""

    title = serializers.CharField(required=False)
    slug = serializers.CharField(required=False, help_text="Fixed once it opens.")
    tagline = serializers.CharField(required=False, allow_blank=True)
    description = serializers.CharField(
        required=False, allow_blank=True, help_text="The overview page, Markdown."
    )
    rules = serializers.CharField(
        required=False, allow_blank=True, help_text="The rules page, Markdown."
    )
    ask_again = serializers.BooleanField(
        required=False,
        help_text="True: the rules changed in substance, so members have to accept them again.",
    )
    data_description = serializers.CharField(
        required=False, allow_blank=True, help_text="The data page, Markdown."
    )
    visibility = serializers.ChoiceField(choices=Visibility.choices, required=False)
    opens_at = serializers.DateTimeField(required=False, help_text="Fixed once it has passed.")
    closes_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="Null: no end. Of an open competition it only moves later.",
    )
    daily_limit = serializers.IntegerField(
        required=False, help_text="Submissions of a team in a day (UTC)."
    )
    total_limit = _limit("Submissions of a team in all; null: no limit.")
    team_size = serializers.IntegerField(required=False)
    max_file_bytes = serializers.IntegerField(required=False)
    finals_limit = serializers.IntegerField(
        required=False, help_text="Submissions that a team may enter for the final scores."
    )
    is_hidden = serializers.BooleanField(
        required=False, help_text="Hidden until the end; for good once it opens."
    )
    team_limit = _limit("Teams at most; for good once it opens.")
    question_limit = _limit("Questions that the ledger answers; for good once it opens.")
    nats_limit = _limit("What a team's answers may tell, in nats; for good once it opens.")
    gate_limit = _limit("Gates that the ledger answers; for good once it opens.")


class NewBody(SettingsBody):
    """Settings of a draft. What is left out has its usual value."""

    title = serializers.CharField()
    slug = serializers.CharField(
        required=False, help_text="If left out, it follows from the title."
    )
    ask_again = None  # type: ignore[assignment]  # there are no members yet
    opens_at = serializers.DateTimeField(required=False, help_text="Now, if left out.")


class Work(Out):
    """How much there is to do."""

    teams = serializers.IntegerField()
    submissions = serializers.IntegerField()
    queued = serializers.IntegerField(help_text="Submissions that wait for a worker,")
    scoring = serializers.IntegerField(help_text="that a worker has,")
    failed = serializers.IntegerField(help_text="that failed on our side.")
    waiting_since = serializers.DateTimeField(
        allow_null=True, help_text="When the oldest came that has no answer."
    )


class SealedSolution(Out):
    """The solution that answers now: counts and commitments, never labels."""

    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    uploaded_by = serializers.CharField(allow_null=True)
    public_rows = serializers.IntegerField()
    private_rows = serializers.IntegerField()
    final_rows = serializers.IntegerField()
    ignored_rows = serializers.IntegerField()
    effective_public_rows = serializers.IntegerField(
        help_text="So many plain rows the Public ones count as, by weights or groups,"
    )
    effective_private_rows = serializers.IntegerField(help_text="and the Private ones.")
    solution_commitment = serializers.CharField()
    secret_commitment = serializers.CharField()


class Solution(Out):
    """What of the sealed solution is public."""

    solution = SealedSolution(allow_null=True, help_text="Null: none is sealed.")


class Organized(Out):
    """A competition as its organizers see it."""

    slug = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices, help_text="Your own.")
    phase = serializers.ChoiceField(choices=Phase.choices)
    stage = serializers.ChoiceField(
        choices=[each.value for each in Stage], source="stage.value", help_text="Of its end."
    )
    title = serializers.CharField()
    tagline = serializers.CharField()
    description = serializers.CharField(help_text="Markdown.")
    rules = serializers.CharField(help_text="Markdown.")
    rules_version = serializers.IntegerField()
    data_description = serializers.CharField(help_text="Markdown.")
    visibility = serializers.ChoiceField(choices=Visibility.choices)
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField(allow_null=True)
    daily_limit = serializers.IntegerField()
    total_limit = serializers.IntegerField(allow_null=True)
    team_size = serializers.IntegerField()
    max_file_bytes = serializers.IntegerField()
    finals_limit = serializers.IntegerField()
    is_hidden = serializers.BooleanField()
    team_limit = serializers.IntegerField(allow_null=True)
    question_limit = serializers.IntegerField(allow_null=True)
    nats_limit = serializers.IntegerField(allow_null=True)
    gate_limit = serializers.IntegerField(allow_null=True)
    fixed = serializers.ListField(
        child=serializers.CharField(), help_text="Settings that can't change any more."
    )
    columns = PredictionSchema(allow_null=True)
    solution = SealedSolution(allow_null=True)
    opened_at = serializers.DateTimeField(allow_null=True, help_text="Null: a draft.")
    announced_closes_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was to close; null: it was not closed earlier."
    )
    finals_started_at = serializers.DateTimeField(allow_null=True)
    finals_scored_at = serializers.DateTimeField(allow_null=True)
    revealed_at = serializers.DateTimeField(allow_null=True)
    publication_at = serializers.DateTimeField(allow_null=True)
    paused = serializers.CharField(help_text="Why its ledger answers nobody; empty: it does.")
    work = Work()
    guarantee = BoardGuarantee(
        allow_null=True, help_text="Of the first board; null as on the board."
    )
    url = serializers.CharField(help_text="The participants' page.")


class OrganizedItem(Out):
    """A competition in the list of those that you run."""

    slug = serializers.CharField()
    title = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.choices)
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField(allow_null=True)
    teams = serializers.IntegerField()
    submissions = serializers.IntegerField()
    failed = serializers.IntegerField()


def sealed(round: Round) -> Json | None:
    """Return what may be known of the solution that answers now."""
    holdout = round.active_holdout
    if holdout is None:
        return None
    by = holdout.uploaded_by
    return vars(holdout) | {"uploaded_by": by.username if by else None}


def organized(competition: Competition, user: User) -> Json:
    """Return what `Organized` shows of a competition."""
    round = competition.current_round
    moments = (
        *("announced_closes_at", "finals_started_at", "finals_scored_at"),
        *("revealed_at", "publication_at"),
    )
    return {
        **{name: getattr(competition, name) for name in OF_COMPETITION},
        **{name: getattr(round, name) for name in (*OF_ROUND, *moments)},
        "rules_version": competition.rules_version,
        "role": access.role_of(user, competition),
        "phase": round.phase(timezone.now()),
        "stage": queries.stage(round),
        "fixed": sorted(fixed_settings(competition)),
        "columns": round.schema or None,
        "solution": sealed(round),
        "opened_at": competition.opened_by_organizer_at,
        "paused": round.ledger.paused_because if round.ledger else "",
        "work": queries.work(competition),
        "guarantee": queries.guarantee(round.board) if competition.opened_by_organizer_at else None,
        "url": f"{settings.SITE_URL}/c/{competition.slug}/",
    }
