"""What all objects of the API share."""

from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from leaderboard import words
from leaderboard.queries import BoardRow, Released
from scoring.mechanisms import answer_kinds

INTERVAL_DIGITS = 6  # the ends of an interval need no more
FORM_FIELDS = {"csrfmiddlewaretoken"}
Json = dict[str, Any]


class Body(serializers.Serializer[Any]):
    """A request body: a field that is not its own is an error, not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            mine = {name for name, field in self.fields.items() if not field.read_only}
            unknown = sorted(str(name) for name in set(data) - mine - FORM_FIELDS)
            if unknown:
                text = "`{}` is not a field that can be written here."
                raise serializers.ValidationError(
                    {name: [text.format(name)] for name in unknown}, code="unknown_field"
                )
        return super().to_internal_value(data)

    @classmethod
    def read(cls, request: Request) -> Json:
        """Return what the request sends. Raises ValidationError, naming the fields."""
        body = cls(data=request.data)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)


# An answer, made from a frozen row of the queries. Its docstring would show on every object.
class Out(serializers.Serializer[Any]):
    """A serializer that only writes."""

    __doc__ = ""

    @classmethod
    def show(cls, row: Any) -> Json:
        """Return what `cls(row).data` does: making a serializer takes longer than using it."""
        return dict(_shared(cls).to_representation(row))


@cache
def _shared(kind: type[Out]) -> Out:
    return kind()


class Interval(Out):
    """An interval of scores."""

    low = serializers.FloatField()
    high = serializers.FloatField()

    def to_representation(self, interval: Any) -> Json:
        return {
            "low": round(interval.low, INTERVAL_DIGITS),
            "high": round(interval.high, INTERVAL_DIGITS),
        }


class Scored(Out):
    """A released score with its intervals, and the solution that it was measured on."""

    score = serializers.SerializerMethodField(help_text="Null: nothing is released yet.")
    score_text = serializers.CharField(
        source="score", allow_null=True, help_text="The score with the digits that mean something."
    )
    sampling = Interval(allow_null=True, help_text="95 % sampling interval of the score.")
    certificate = Interval(
        allow_null=True, help_text="What the ledger guarantees; null: no guarantee."
    )
    guarantee_text = serializers.SerializerMethodField(
        help_text='How far it reaches: "±0.16", or "none"; empty without a score. What it assumes '
        "of teams on a board that is hidden until the end stands with it."
    )
    runs = serializers.IntegerField(
        allow_null=True, help_text="Runs of a model, of which the score is the mean."
    )
    spread = serializers.FloatField(
        allow_null=True,
        help_text="Standard deviation of the scores of the runs, on the public rows alone.",
    )
    version = serializers.IntegerField(help_text="Of the solution that it was measured on.")
    earlier = serializers.BooleanField(help_text="That solution has been revised since.")

    def get_score(self, row: BoardRow | Released) -> float | None:
        return None if row.score is None else float(row.score)

    def get_guarantee_text(self, row: BoardRow | Released) -> str:
        text = words.guarantee(row)
        return f"{text}, {words.ASSUMPTION}" if row.apart and row.certificate else text


class AnswerCode(serializers.CharField):
    """The code of a kind of answers. No closed list: mechanisms bring their own."""

    def __init__(self, **kwargs: Any) -> None:
        codes = ", ".join(f"`{code}`" for code in answer_kinds())
        super().__init__(help_text=f"What the mechanism answered: {codes}.", **kwargs)
