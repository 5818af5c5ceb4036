"""Announcements, webhooks, bundles, rounds and boards."""

from typing import Any

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out
from leaderboard.models import DeliveryState, EventKind, Phase
from leaderboard.organize.announcements import LONGEST_TEXT, LONGEST_TITLE
from leaderboard.organize.webhooks import LONGEST_URL


class AnnouncementBody(Body):
    """Something to be told."""

    title = serializers.CharField(help_text=f"At most {LONGEST_TITLE} characters.")
    text = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text=f"Markdown, at most {LONGEST_TEXT:,} characters.",
    )


class OrganizedAnnouncement(Out):
    """Something that the organizers told."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    text = serializers.CharField(help_text="Markdown.")
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)


class WebhookBody(Body):
    """An address that events are sent to."""

    url = serializers.CharField(max_length=LONGEST_URL)
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=EventKind.choices),
        required=False,
        help_text="Which events; all of them if left out.",
    )


class WebhookPatch(WebhookBody):
    """What of a webhook can be written; what is left out stays as it is."""

    url = serializers.CharField(max_length=LONGEST_URL, required=False)
    is_on = serializers.BooleanField(
        required=False, help_text="What happened while it was off is not sent later."
    )
    renew_secret = serializers.BooleanField(
        required=False, help_text="True: the secret before signs nothing any more."
    )


class WebhookItem(Out):
    """An address that events are sent to."""

    uid = serializers.CharField()
    url = serializers.CharField()
    kinds = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    failures = serializers.IntegerField(help_text="Attempts since the last one that worked.")
    failing_since = serializers.DateTimeField(allow_null=True)
    disabled_at = serializers.DateTimeField(allow_null=True, help_text="Null: it is on.")
    disabled_because = serializers.CharField()


class WebhookDetail(WebhookItem):
    """A webhook with the secret that its messages are signed by."""

    secret = serializers.CharField()


class DeliveryItem(Out):
    """A message to a webhook, and what was answered."""

    uid = serializers.CharField(help_text="The message's id, the same in every attempt.")
    kind = serializers.CharField()
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="HTTP's, of the last answer.")
    answer = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class BundleBody(Body):
    """A bundle: Holdfast's, Codabench's, or Kaggle's files, as a zip archive."""

    bundle = serializers.FileField(help_text="It may hold a solution: that stays in memory.")
    slug = serializers.SlugField(
        max_length=60, required=False, help_text="Another short name than the bundle's."
    )
    sure = serializers.BooleanField(
        required=False, help_text="True: no public file holds hidden labels, though one looks so."
    )


class BundlePlan(Out):
    """What an import would make, and what can't be carried over."""

    slug = serializers.CharField()
    title = serializers.CharField()
    format = serializers.CharField(source="bundle.source", help_text="Whose it is.")
    rounds = serializers.SerializerMethodField(help_text="How many.")
    lost = serializers.ListField(child=serializers.CharField(), help_text="In sentences.")

    def get_rounds(self, plan: object) -> int:
        return len(getattr(plan, "rounds", ()))


class CloneBody(Body):
    """The short name of the copy."""

    slug = serializers.SlugField(max_length=60)


class RoundPatch(Body):
    """Times and limits of a round that has not begun; what is left out stays as it is."""

    opens_at = serializers.DateTimeField(required=False)
    closes_at = serializers.DateTimeField(required=False, allow_null=True)
    daily_limit = serializers.IntegerField(required=False)
    total_limit = serializers.IntegerField(required=False, allow_null=True)
    max_file_bytes = serializers.IntegerField(required=False)
    finals_limit = serializers.IntegerField(required=False)
    is_hidden = serializers.BooleanField(required=False)
    team_limit = serializers.IntegerField(required=False, allow_null=True)
    question_limit = serializers.IntegerField(required=False, allow_null=True)
    nats_limit = serializers.IntegerField(required=False, allow_null=True)
    gate_limit = serializers.IntegerField(required=False, allow_null=True)


class RoundBody(RoundPatch):
    """A further round."""

    opens_at = serializers.DateTimeField()
    continues = serializers.BooleanField(
        required=False,
        help_text="True: it goes on with the rows of the last round, and with its ledger.",
    )


class BoardBody(Body):
    """A further column of a round."""

    metric = serializers.CharField()
    metric_parameters = serializers.DictField(child=serializers.CharField(), required=False)
    mechanism = serializers.CharField(required=False)
    mechanism_parameters = serializers.DictField(child=serializers.CharField(), required=False)


class RoundBoard(Out):
    """A board of a round."""

    uid = serializers.CharField()
    title = serializers.CharField()
    metric = serializers.CharField()
    metric_parameters = serializers.DictField(child=serializers.CharField())
    mechanism = serializers.CharField()
    mechanism_parameters = serializers.DictField(child=serializers.CharField())


class RoundItem(Out):
    """A round with its boards, the one that ranks first."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.choices)
    is_current = serializers.BooleanField()
    continues = serializers.IntegerField(
        allow_null=True, help_text="The round whose rows it goes on with."
    )
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField(allow_null=True)
    has_solution = serializers.BooleanField()
    practice_opened_at = serializers.DateTimeField(allow_null=True)
    boards = RoundBoard(many=True)


class PracticeBody(Body):
    """Whether teams may go on submitting after the reveal."""

    is_open = serializers.BooleanField()


class ArchiveQuery(serializers.Serializer[Any]):
    """What of its people an archive takes along."""

    with_people = serializers.BooleanField(
        default=False, help_text="Names and mail addresses of members, who should know of it."
    )


class ArchiveFileBody(Body):
    """An archive of Holdfast."""

    archive = serializers.FileField()
    slug = serializers.SlugField(
        max_length=60, required=False, help_text="Another short name than the archive's."
    )


class VaultKey(Out):
    """What others seal the secrets of a competition to that moves here."""

    vault_key = serializers.CharField(help_text="In hex; empty where there is none.")


class MoveBody(Body):
    """Where a competition goes."""

    destination = serializers.CharField(
        max_length=100, help_text="The public key of the other installation's vault."
    )


class Move(Out):
    """A move of the competition, away from here or to here."""

    is_incoming = serializers.BooleanField()
    destination = serializers.CharField(help_text="The key that its secrets are sealed to.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(
        allow_null=True, help_text="Null: a worker is at it. Then the archive has the secrets."
    )
    failure = serializers.CharField(help_text="Why it led to nothing.")


class Moves(Out):
    """Whether a competition has moved, and could."""

    move = Move(allow_null=True)
    obstacle = serializers.CharField(help_text="Why it can't be moved now; empty: it can.")


class PlanBody(Body):
    """A board that was compared."""

    mechanism = serializers.CharField(max_length=40)


class PlannedBoard(Out):
    """A board that the planner rehearsed, in units of the score."""

    mechanism = serializers.CharField()
    title = serializers.CharField()
    parameters = serializers.DictField(child=serializers.CharField())
    is_used = serializers.BooleanField()
    half_width = serializers.FloatField(
        allow_null=True, help_text="Of a good score at the end. Null: nothing is promised."
    )
    told_apart = serializers.FloatField(
        allow_null=True, help_text="The share of pairs that the finals tell apart."
    )
    step = serializers.FloatField()
    verdict = serializers.CharField()
    objections = serializers.ListField(child=serializers.CharField())


class PlannedBoards(Out):
    """Boards to choose from, the best first."""

    boards = PlannedBoard(many=True, help_text="None without metric and solution.")
