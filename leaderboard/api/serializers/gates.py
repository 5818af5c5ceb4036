"""Gates and what they answered."""

from typing import Any, get_args

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out
from scoring.gates import GateKind

NAME_LENGTH = 60
KINDS = get_args(GateKind)


class GateItem(Out):
    """A gate, and what its answers promise now; numbers are in units of the score."""

    name = serializers.CharField()
    uid = serializers.CharField(help_text="Its permanent id, as the ledger and the log name it.")
    kind = serializers.ChoiceField(choices=KINDS)
    metric = serializers.CharField()
    asks = serializers.CharField(help_text="The question, in words.")
    bound = serializers.FloatField(help_text="The mark, or how much may be lost.")
    differing = serializers.FloatField(
        help_text="On which share of the rows a file may differ from the one in use."
    )
    margin = serializers.FloatField(help_text="How far an answer may err now, to either side.")
    announced = serializers.FloatField(
        allow_null=True,
        help_text="How far it may err at most: beyond that it is closed. Null: nothing was said.",
    )
    high = serializers.FloatField(
        help_text="A pass promises this score, or that no more than this is lost."
    )
    low = serializers.FloatField(
        allow_null=True, help_text="What a fail promises; null: it says nothing."
    )
    on_pass = serializers.CharField(help_text="What a pass means, in words.")
    on_fail = serializers.CharField(help_text="What a fail means, in words.")
    in_use = serializers.IntegerField(
        allow_null=True, help_text="The number of the submission that it compares with."
    )
    left = serializers.IntegerField(help_text="How many more its ledger answers, of all gates.")
    limit = serializers.IntegerField(help_text="How many the ledger declared when it began.")
    closed = serializers.CharField(
        allow_blank=True, help_text="Why it takes no new question; empty: it does."
    )
    created_at = serializers.DateTimeField()


class GateAnswer(Out):
    """What a gate said of a submission."""

    passed = serializers.BooleanField()
    asks = serializers.CharField(help_text="The question, in words.")
    promise = serializers.CharField(help_text="What the answer means, in words.")
    is_repeat = serializers.BooleanField(
        help_text="Answered before: nothing was asked, and nothing counted."
    )
    earlier = serializers.BooleanField(help_text="The solution has been revised since.")
    left = serializers.IntegerField(help_text="How many more gates the ledger answers.")
    limit = serializers.IntegerField(help_text="How many it declared when it began.")


class GateBody(Body):
    """A gate to be made; it is never changed."""

    name = serializers.CharField(max_length=NAME_LENGTH, help_text="By which programs ask it.")
    kind = serializers.ChoiceField(choices=KINDS)
    mark = serializers.FloatField(required=False, help_text="Of `mark`: the score that passes.")
    tolerance = serializers.FloatField(
        required=False, help_text="Of `not_worse`: how much of the score may be lost."
    )
    differing = serializers.FloatField(
        required=False,
        help_text="Of `not_worse`: on which share of the rows files may differ. The fewer, the "
        "smaller the margin.",
    )
    margin = serializers.FloatField(
        required=False, help_text="How far its answers may err at most."
    )
    team = serializers.CharField(required=False, help_text="Whose file is in use, by its id.")
    submission = serializers.IntegerField(
        required=False, help_text="The number of the submission that is in use."
    )
    board = serializers.IntegerField(
        required=False,
        help_text="The `position` of the board by which it asks; the one that ranks if left out.",
    )

    def validate(self, data: Any) -> Any:
        if ("team" in data) != ("submission" in data):
            missing = "submission" if "team" in data else "team"
            text = "Give the team's id and the submission's number, or neither."
            raise serializers.ValidationError({missing: [text]}, code="required")
        return data


class PromoteBody(Body):
    """The submission that takes the place of the one in use."""

    team = serializers.CharField(help_text="Whose it is, by its id.")
    submission = serializers.IntegerField(help_text="Its number.")
