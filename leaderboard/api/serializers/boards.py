"""The board, and the public ledger behind it."""

from rest_framework import serializers

from leaderboard.api.serializers.base import AnswerCode, Out, Scored


class BoardItem(Scored):
    """A row of the leaderboard: released values only."""

    rank = serializers.IntegerField(
        allow_null=True,
        help_text="By released score; ties go to who was first. Null: hidden until the end.",
    )
    team = serializers.CharField()
    entries = serializers.IntegerField(help_text="Scored submissions.")
    last_improvement_at = serializers.DateTimeField(source="improved_at", allow_null=True)
    last_answer = AnswerCode(source="last_kind")
    last_answer_at = serializers.DateTimeField(source="last_at")
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    is_mine = serializers.BooleanField(source="mine")


class PublicationItem(Out):
    """Solution and secret of one revision of the holdout, published."""

    version = serializers.IntegerField()
    published_at = serializers.DateTimeField()
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField()


class LedgerEntry(Out):
    """An answer that left the holdout: the shown loss is level / steps."""

    number = serializers.IntegerField()
    version = serializers.IntegerField(
        help_text="Of the solution; it rises when the organizer revises it. Not hashed."
    )
    board = serializers.CharField(allow_blank=True)
    team = serializers.CharField()
    submission = serializers.IntegerField()
    kind = AnswerCode()
    level = serializers.IntegerField(allow_null=True)
    reference_level = serializers.IntegerField(allow_null=True)
    steps = serializers.IntegerField()
    width = serializers.FloatField()
    tolerance = serializers.FloatField()
    certificate = serializers.FloatField(allow_null=True)
    asked = serializers.IntegerField()
    low = serializers.FloatField(
        allow_null=True, help_text="With `high` and `bound`: the interval of the loss as shown."
    )
    high = serializers.FloatField(allow_null=True)
    bound = serializers.CharField(allow_blank=True)
    answered = serializers.IntegerField(help_text="This and the next three: the ledger after it.")
    log_alphabets = serializers.FloatField()
    firings = serializers.IntegerField()
    budget_left = serializers.IntegerField(allow_null=True)
    share_left = serializers.IntegerField(allow_null=True)
    predictions_tag = serializers.CharField(
        help_text="A keyed hash of the predictions: it can be checked once the secret is published."
    )
    question = serializers.CharField()
    repeat = serializers.BooleanField()
    parameters_hash = serializers.CharField()
    previous_hash = serializers.CharField()
    created_at = serializers.CharField(help_text="Exactly as it is hashed.")
    hash = serializers.CharField()
