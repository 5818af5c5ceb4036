"""Parameters that an organizer types: what they are called, what they mean, what is allowed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from scoring.errors import ParameterError

Value = int | Fraction | str

_LONGEST = 20  # characters of a decimal
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FRACTION = re.compile(
    r"[+-]?([0-9]{1,18}/[0-9]{1,18}|[0-9]{1,18}(\.[0-9]{0,18})?([eE]-[0-9]{1,2})?|\.[0-9]{1,18})"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a metric or mechanism.

    `help` is shown where the value is typed. `minimum` and `maximum` are inclusive and apply to
    numbers; of a "text", which is one line and may be empty, `maximum` is the length; `choices` are
    those of the kind "choice", and `choice_titles` are what they are called, where that is not
    enough. Fractions are exact: "0.02" and "1/50" are the same.
    """

    name: str
    title: str
    help: str
    kind: Literal["integer", "fraction", "choice", "text"]
    default: Value
    minimum: int | Fraction | None = None
    maximum: int | Fraction | None = None
    choices: tuple[str, ...] = ()
    choice_titles: tuple[str, ...] = ()

    def parse(self, value: object) -> Value:
        """Parse a text or number. Raises ParameterError naming this parameter."""
        text = "" if isinstance(value, bool) or value is None else str(value).strip()
        if self.kind == "choice":
            if text not in self.choices:
                raise self._error(f"Choose one of {', '.join(self.choices)}.")
            return text
        if self.kind == "text":
            if not all(map(str.isprintable, text)) or len(text) > int(self.maximum or 0):
                raise self._error(f"Give one line of at most {self.maximum} characters.")
            return text
        number = self._parse_number(text)
        if self.minimum is not None and number < self.minimum:
            raise self._error(f"Give at least {show(self.minimum)}.")
        if self.maximum is not None and number > self.maximum:
            raise self._error(f"Give at most {show(self.maximum)}.")
        return number

    def _parse_number(self, text: str) -> int | Fraction:
        if self.kind == "integer":
            if not _INTEGER.fullmatch(text):
                raise self._error(f"Give a whole number{self._range}.")
            return int(text)
        if not _FRACTION.fullmatch(text):
            raise self._error(
                'Give a number such as "0.02" or "1/50": a point, no comma, and no unit after it.'
            )
        try:
            return Fraction(text)
        except ZeroDivisionError:
            raise self._error("A fraction cannot have the denominator 0.") from None

    @property
    def _range(self) -> str:
        ends = (("from", self.minimum), ("to", self.maximum))
        return "".join(f" {word} {show(end)}" for word, end in ends if end is not None)

    def _error(self, message: str) -> ParameterError:
        return ParameterError(self.name, message)


def parse_all(parameters: Sequence[Parameter], raw: Mapping[str, object]) -> dict[str, Value]:
    """Parse all values by name, and fill defaults in. Raises ParameterError, also for unknown
    names.
    """
    known = {parameter.name for parameter in parameters}
    for name in raw:
        if name not in known:
            raise ParameterError(name, "There is no parameter with this name.")
    return {p.name: p.parse(raw.get(p.name, p.default)) for p in parameters}


def show(number: int | Fraction) -> str:
    """Write a number as people do: decimals where they are exact and short, else a fraction."""
    decimal = format(Decimal(format(float(number), ".6g")), "f")
    exact = len(decimal) <= _LONGEST and Fraction(decimal) == number
    return decimal if exact else str(number)
