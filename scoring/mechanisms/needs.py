"""What mechanisms ask of metrics, solutions and competitions that are still to come."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, Protocol

from scoring.errors import ParameterError
from scoring.guarantees.intervals import wilson_interval

MOST: Final = 10**9
_COUNTED: Final = ("rows", "teams", "submissions")
_PARTS: Final = ("public", "final")

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
class Counts:
    """How many rows of a competition that is still to come show scores, and how many are asked."""

    public: int
    private: int


@dataclass(frozen=True)
class Need:
    """A competition that is still to come, as its organizer describes it.

    rows: hidden rows in all; `public` and `final` of them show scores beside the Private ones, and
        wait for the end. None where they are to be planned, and then as good as 0.
    teams, submissions: how many teams, and files of each in all.
    metric: "mean" for means over rows, "set" for functions of all rows together (AUC, F1).
    worst, best: the range of scores. A loss goes from 0, the best, to 1. good: the loss of a good
        score. guessing: the loss of the best constant prediction, or of a baseline.
    Raises ParameterError naming the field.
    """

    rows: int
    teams: int
    submissions: int
    metric: MetricKind = "mean"
    public: int | None = None
    final: int | None = None
    confidence: Fraction = Fraction(95, 100)
    worst: Fraction = Fraction(0)
    best: Fraction = Fraction(1)
    good: Fraction = Fraction(1, 4)
    guessing: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        for holds, field, message in (
            *((getattr(self, name) >= 1, name, "Give at least 1.") for name in _COUNTED),
            *((getattr(self, name) <= MOST, name, f"Give at most {MOST}.") for name in _COUNTED),
            *(((getattr(self, name) or 0) >= 0, name, "Give at least 0.") for name in _PARTS),
            (self.private >= 1, "rows", "Give more rows than are Public and Final."),
            (self.metric in {"mean", "set"}, "metric", "Choose mean or set."),
            (Fraction(1, 2) <= self.confidence < 1, "confidence", "Give from 0.5 to below 1."),
            (self.worst != self.best, "best", "Give another score than the worst."),
            (0 < self.good < Fraction(1, 2), "good", "Give more than 0, below 0.5."),
            (0 < self.guessing <= 1, "guessing", "Give more than 0, at most 1."),
        ):
            if not holds:
                raise ParameterError(field, message)

    @property
    def questions(self) -> int:
        """Return how many submissions all teams make."""
        return self.teams * self.submissions

    @property
    def private(self) -> int:
        """Return the rows that are neither Public nor Final."""
        return self.rows - (self.public or 0) - (self.final or 0)

    @property
    def counts(self) -> Counts:
        """Return the rows as mechanisms ask for them."""
        return Counts(self.public or 0, self.private)

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

    @property
    def unit(self) -> Fraction:
        """Return the range of scores: what a loss of 1 is in their units."""
        return abs(self.best - self.worst)

    @property
    def sampling_error(self) -> float:
        """Return half of the plain 95 % whisker of a good score on the Private rows, as a loss."""
        low, high = wilson_interval(float(self.good), self.private, 0.05)
        return (high - low) / 2

    def grids(self) -> list[int]:
        """Return steps that are round in units of the score, coarse ones first.

        None hides a sampling error, and none is so fine that it shows little but chance. If no
        round step is so, the coarsest that there may be.
        """
        least, most = math.ceil(1 / self.sampling_error), min(math.isqrt(16 * self.private), 10_000)
        size = math.floor(math.log10(self.unit / most))
        steps = {
            self.unit / (Fraction(10) ** power * digit)
            for power in range(size, size + 4)
            for digit in (1, 2, 5)
        }
        found = sorted(int(each) for each in steps if each.denominator == 1)
        return [each for each in found if least <= each <= most] or [max(2, min(least, most))]
