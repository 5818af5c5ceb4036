"""The public log: heads, entries and proofs."""

from typing import Any

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out

_LARGEST = 2**63 - 1


class Log(Out):
    """A log at its newest head."""

    origin = serializers.CharField(help_text="The log's name, wherever the competition moves.")
    size = serializers.IntegerField(help_text="Entries under the newest head.")
    key = serializers.CharField(help_text="What heads are signed with, as a vkey.")
    receipt_key = serializers.CharField(help_text="What receipts are signed with, as a vkey.")
    checkpoint = serializers.CharField(help_text="The newest head, a signed note.")
    signed_at = serializers.DateTimeField()
    cosigned = serializers.ListField(
        child=serializers.CharField(), help_text="Heads that witnesses signed, newest first."
    )
    witnesses = serializers.ListField(
        child=serializers.CharField(), help_text="Whose signatures this site takes."
    )
    seen = serializers.IntegerField(help_text="How many of them signed the newest head.")
    delay = serializers.IntegerField(help_text="Seconds within which entries follow.")


class Entry(Out):
    """An entry of the log."""

    index = serializers.IntegerField()
    document = serializers.DictField()
    opening = serializers.DictField(
        required=False, help_text="`name` and `salt` of a team's commitment."
    )


class Entries(Out):
    """Entries of the log, in order."""

    entries = Entry(many=True)


class Inclusion(Out):
    """An entry, and the proof that it is under the newest head."""

    index = serializers.IntegerField()
    document = serializers.DictField()
    size = serializers.IntegerField()
    proof = serializers.ListField(child=serializers.CharField())
    checkpoint = serializers.CharField()


class Consistency(Out):
    """The proof that one tree begins with another."""

    proof = serializers.ListField(child=serializers.CharField())


class Witnessed(Out):
    """Who has signed a head by now."""

    size = serializers.IntegerField()
    witnesses = serializers.ListField(child=serializers.CharField())


def _index(**more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=_LARGEST, **more)


class EntriesQuery(serializers.Serializer[Any]):
    """Where to begin."""

    vars()["from"] = _index(default=0, help_text="The first index.")


class InclusionQuery(serializers.Serializer[Any]):
    """Which entry is meant."""

    index = _index(required=False)
    team = serializers.CharField(max_length=64, required=False)
    submission = _index(required=False)

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Refuse a question that names no entry."""
        if "index" not in asked and not {"team", "submission"} <= asked.keys():
            raise serializers.ValidationError({"index": ["Give it, or team and submission."]})
        return asked


class ConsistencyQuery(serializers.Serializer[Any]):
    """Which two sizes are meant."""

    first = _index()
    second = _index()


class WitnessBody(Body):
    """A signed head."""

    note = serializers.CharField(max_length=20_000, trim_whitespace=False)
