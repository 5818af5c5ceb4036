"""How levels of a loss read as scores: values, digits, intervals, and how far these reach."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring import metrics
from scoring.mechanisms.base import Mechanism
from scoring.metrics.base import Metric, Parameters


@dataclass(frozen=True)
class Interval:
    """An interval of scores, low to high as numbers."""

    low: float
    high: float

    def outward(self, decimals: int) -> tuple[str, str]:
        """Return both ends as texts, rounded away from each other."""
        grid = 10**decimals
        low, high = math.floor(self.low * grid + 1e-9), math.ceil(self.high * grid - 1e-9)
        return f"{low / grid:.{decimals}f}", f"{high / grid:.{decimals}f}"


@dataclass(frozen=True)
class Scale:
    """How a grid level of the loss reads as a score: values, digits, which way is better.

    `reference` says what a confirmed score was: "public", or "claimed" by the team.
    """

    metric: str
    maximize: bool
    steps: int
    decimals: int
    worst: float
    best: float
    parameters: Any
    reference: str

    def score(self, loss: float) -> float:
        """Return the score that people read for a loss in [0, 1]."""
        value = metrics.get(self.metric).score(min(1.0, max(0.0, loss)), self.parameters)
        return float(value)

    @property
    def is_even(self) -> bool:
        """Return whether all steps of the grid are alike as scores; those of a root are not."""
        return metrics.get(self.metric).kind != "transformed_mean"

    def text(self, loss: float) -> str:
        """Return the score with the digits that mean something.

        Where steps are uneven the best level may stand for a wide range of scores: then the text
        says so, and not that the best possible score was reached.
        """
        half_a_step = 0.5 / self.steps
        if self.is_even or loss >= half_a_step:
            return f"{self.score(loss):.{self.decimals}f}"
        return f"{'>' if self.maximize else '<'} {self.score(half_a_step):.{self.decimals}f}"

    def interval(self, low_loss: float, high_loss: float) -> Interval:
        """Return the scores of all losses between two, low to high."""
        low, high = sorted((self.score(low_loss), self.score(high_loss)))
        return Interval(low, high)

    def step_text(self, loss: float) -> str:
        """Return the size, as a score, of the grid step to this loss from the next better one."""
        better = max(0.0, loss - 1 / self.steps)
        size = abs(self.score(better) - self.score(better + 1 / self.steps))
        return f"{'' if self.is_even else 'about '}{size:.{self.decimals}f}"


def scale_of(
    metric: Metric, parameters: Parameters, mechanism: Mechanism[Any], settings: Any
) -> Scale:
    """Return how the levels of a mechanism with these settings read as scores of a metric."""
    worst, best = metric.score_range(parameters)
    step = finest_step(lambda loss: metric.score(loss, parameters), settings.steps)
    return Scale(
        metric=metric.name,
        maximize=metric.direction == "maximize",
        steps=settings.steps,
        decimals=max(0, math.ceil(-math.log10(step) - 1e-9)),
        worst=worst,
        best=best,
        parameters=parameters,
        reference="claimed" if mechanism.reference(settings) == "claim" else "public",
    )


def finest_step(score: Callable[[float], float], steps: int) -> float:
    """Return the smallest grid step as a score.

    Scores are monotone and concave or convex, so it is at an end.
    """
    return min(abs(score(0) - score(1 / steps)), abs(score(1) - score(1 - 1 / steps)))


def reach(certificate: Interval, value: float) -> str:
    """Return how far the guarantee reaches from the score."""
    return round_up(max(value - certificate.low, certificate.high - value))


def round_up(distance: float) -> str:
    """Return a distance with two digits, never too small."""
    if distance <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(distance))
    up = math.ceil(distance * 10**decimals - 1e-9) / 10**decimals
    return f"{up:.{max(0, decimals)}f}"
