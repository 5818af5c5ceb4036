"""What mechanisms ask of metrics, solutions and competitions that are still to come."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, Protocol

from scoring.errors import ParameterError

MOST_ROWS: Final = 10**9
_COUNTED: Final = ("rows", "teams", "submissions")

MetricKind = Literal["mean", "set"]


class MetricFacts(Protocol):
    """What a mechanism needs to know of a metric. See `scoring.metrics.Metric`.

    units: in how many parts a row's loss is counted, 1 for losses that are 0 or 1.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def units(self) -> int: ...


class RowCounts(Protocol):
    """How many rows a solution has of each usage that matters here."""

    @property
    def public(self) -> int: ...

    @property
    def private(self) -> int: ...


@dataclass(frozen=True)
class Need:
    """A competition that is still to come, as its organizer describes it.

    `rows` private and `public` public rows; without public rows, teams claim their scores.
    `metric` is "mean" for means over rows and "set" for functions of all rows together (AUC, F1).
    `tolerance` is the wished certificate, as a loss. Raises ParameterError naming the field.
    """

    rows: int
    teams: int
    submissions: int
    metric: MetricKind = "mean"
    tolerance: Fraction = Fraction(1, 20)
    confidence: Fraction = Fraction(95, 100)
    public: int = 0

    def __post_init__(self) -> None:
        for holds, field, message in (
            *((getattr(self, name) >= 1, name, "Give at least 1.") for name in _COUNTED),
            (self.rows <= MOST_ROWS, "rows", f"Give at most {MOST_ROWS}."),
            (self.public >= 0, "public", "Give at least 0."),
            (self.metric in {"mean", "set"}, "metric", "Choose mean or set."),
            (0 < self.tolerance < Fraction(1, 2), "tolerance", "Give more than 0, below 0.5."),
            (0 < self.confidence < 1, "confidence", "Give more than 0, below 1."),
        ):
            if not holds:
                raise ParameterError(field, message)

    @property
    def questions(self) -> int:
        """Return how many submissions all teams make."""
        return self.teams * self.submissions

    @property
    def private(self) -> int:
        """Return the private rows, as mechanisms call them."""
        return self.rows

    @property
    def kind(self) -> str:
        """Return the metric's kind, as mechanisms call it."""
        return "mean" if self.metric == "mean" else "set_function"

    @property
    def name(self) -> str:
        return "this metric"

    @property
    def units(self) -> int:
        return 1

    def with_rows(self, rows: int) -> "Need":
        """Return the same need with other private rows, and public rows in proportion."""
        public = math.ceil(Fraction(self.public * rows, self.rows))
        return replace(self, rows=rows, public=public)


@dataclass(frozen=True)
class Draft:
    """Parameters as texts, and how often all teams would be answered with more than a "no"."""

    raw: dict[str, str]
    normal_answers: int
    worst_answers: int
