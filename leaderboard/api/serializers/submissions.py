"""Prediction files and what became of them."""

import math
from typing import Any

from rest_framework import serializers

from leaderboard import words
from leaderboard.api.paging import SearchQuery
from leaderboard.api.serializers.base import AnswerCode, Body, Out, Scored
from leaderboard.api.serializers.finals import FinalEntry
from leaderboard.api.serializers.gates import NAME_LENGTH, GateAnswer
from leaderboard.api.serializers.teams import Limits
from leaderboard.models import Status
from leaderboard.participate.notes import NOTE_LENGTH
from leaderboard.queries import SubmissionRow
from leaderboard.queries.submissions import ORDERS


class SubmissionBody(Body):
    """A prediction file."""

    file = serializers.FileField(
        allow_empty_file=True,
        help_text="CSV or Parquet with the columns of the sample submission, also packed.",
    )
    message = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=NOTE_LENGTH,
        help_text="A note for your team.",
    )
    claimed_score = serializers.FloatField(
        required=False,
        help_text="The score you expect; asked for where there are no public rows.",
    )

    campaign = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="The name of your team's campaign that it belongs to; none if left out, or that "
        "of the token.",
    )
    gate = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=NAME_LENGTH,
        help_text="The name of the gate that answers in place of the boards.",
    )

    def validate_claimed_score(self, value: float) -> float:
        if not math.isfinite(value):
            raise serializers.ValidationError("A score is a finite number.", code="not_finite")
        return value


class NoteBody(Body):
    """A submission's message: all of one that can be written."""

    message = serializers.CharField(
        allow_blank=True, max_length=NOTE_LENGTH, help_text="A note for your team; empty for none."
    )


class SubmissionsQuery(SearchQuery):
    """Which of your team's submissions, and in which order."""

    status = serializers.ChoiceField(
        choices=Status.choices, allow_blank=True, default="", help_text="Only those."
    )
    campaign = serializers.CharField(
        max_length=100, allow_blank=True, default="", help_text="Only those of this campaign."
    )
    sort = serializers.ChoiceField(
        choices=[(name, text) for name, (text, _) in ORDERS.items()], default="newest"
    )


class CompareQuery(serializers.Serializer[Any]):
    """Which two submissions, by their numbers."""

    a = serializers.IntegerField(min_value=1, max_value=10**9)
    b = serializers.IntegerField(min_value=1, max_value=10**9)


class ColumnDifference(Out):
    """How far a column differs."""

    name = serializers.CharField()
    differing = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True, help_text="Of numbers: on average by.")
    largest = serializers.FloatField(allow_null=True, help_text="Of numbers: at most by.")


class Comparison(Out):
    """How far two submissions differ."""

    rows = serializers.IntegerField()
    differing = serializers.IntegerField(help_text="Rows with another prediction.")
    columns = ColumnDifference(many=True)


class Problem(Out):
    """One thing that is wrong with a prediction file."""

    code = serializers.CharField()
    message = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    value = serializers.CharField(allow_null=True)
    expected = serializers.CharField(allow_null=True)


class Release(Scored):
    """What the mechanism said about a submission."""

    kind = AnswerCode(source="kind.code")
    number = serializers.IntegerField(
        allow_null=True, help_text="Its number in the public ledger; null: hidden until the end."
    )
    reference_text = serializers.CharField(
        source="reference", allow_null=True, help_text="The score on the public rows."
    )
    share_left = serializers.IntegerField(
        allow_null=True, help_text="What is left of the team's share of the budget."
    )
    asked = serializers.IntegerField(
        allow_null=True,
        help_text="How many questions there had been by then; null: hidden until the end.",
    )
    is_repeat = serializers.BooleanField(
        help_text="Answered before: the stored answer, at no cost."
    )
    repeats = serializers.IntegerField(
        allow_null=True, help_text="The submission whose answer it is; null: this one."
    )
    created_at = serializers.DateTimeField()


class Wait(Out):
    """The place of a file in its queue."""

    place = serializers.IntegerField(help_text="1: it is next.")
    seconds = serializers.IntegerField(allow_null=True, help_text="About how long it still waits.")


class Submission(Out):
    """A submission as its team sees it."""

    number = serializers.IntegerField(help_text="Counts within the team: 1, 2, 3 …")
    user = serializers.CharField()
    file_name = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    message = serializers.CharField()
    campaign = serializers.CharField(allow_null=True, help_text="The name of its campaign.")
    status = serializers.ChoiceField(choices=Status.choices)
    is_final = serializers.BooleanField(help_text="False: ask again in a moment.")
    summary = serializers.SerializerMethodField(
        help_text="What happened, what it means, what can be done."
    )
    problems = Problem(many=True, help_text="The first problems of a rejected file.")
    problem_count = serializers.IntegerField()
    takes_quota = serializers.BooleanField(
        help_text="False of one that repeats what the team had sent before."
    )
    is_practice = serializers.BooleanField(
        help_text="It came after the final scores were revealed, and counts for no board."
    )
    release = Release(source="released", allow_null=True)
    gate = serializers.CharField(
        allow_null=True, help_text="The gate that it was sent to; null: the boards answer."
    )
    passed = serializers.BooleanField(
        source="answer.passed", default=None, allow_null=True, help_text="What the gate said."
    )
    gate_answer = GateAnswer(source="answer", allow_null=True)
    final = FinalEntry(
        read_only=True,
        allow_null=True,
        help_text="Its exact score; null: not entered, or not revealed yet.",
    )
    wait = Wait(
        read_only=True,
        allow_null=True,
        help_text="Null in lists, unless it is queued, and while teams may not know of each other.",
    )
    created_at = serializers.DateTimeField(
        help_text="The moment that counts: when the head of the upload's request arrived."
    )
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_summary(self, row: SubmissionRow) -> str:
        return words.summary(row)


class NewSubmission(Submission):
    """A submission just received, and what may follow it."""

    limits = Limits()
    receipt = serializers.CharField(
        allow_null=True,
        help_text="A signed note: its entry is in the public log within the stated delay.",
    )
