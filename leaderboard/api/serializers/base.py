"""What all objects of the API share."""

from typing import Any

from rest_framework import serializers

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


# An answer, made from a frozen row of the queries. Its docstring would show on every object.
class Out(serializers.Serializer[Any]):
    """A serializer that only writes."""

    __doc__ = ""


class Interval(Out):
    """An interval of scores."""

    low = serializers.FloatField()
    high = serializers.FloatField()

    def to_representation(self, interval: Any) -> Json:
        return {
            "low": round(interval.low, INTERVAL_DIGITS),
            "high": round(interval.high, INTERVAL_DIGITS),
        }


class AnswerCode(serializers.CharField):
    """The code of a kind of answers. No closed list: mechanisms bring their own."""

    def __init__(self, **kwargs: Any) -> None:
        codes = ", ".join(f"`{code}`" for code in answer_kinds())
        super().__init__(help_text=f"What the mechanism answered: {codes}.", **kwargs)


def number(text: str | None) -> float | None:
    """Return the number that is shown, without digits that mean nothing."""
    return None if text is None else float(text)
