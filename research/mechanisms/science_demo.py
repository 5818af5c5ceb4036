"""The Gaussian demonstration of the Science paper (Data S1), as its code does it.

It is not an instance of Thresholdout: the threshold carries no noise, nothing is capped, one
standard deviation serves comparison and answer, and none of the paper's theorems covers it
(theory.md 1.3). Competitions refuse it; it is here so that experiments can repeat the figures.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from research.noise import GaussianNoise
from scoring.errors import StateError
from scoring.measurement import Measurement
from scoring.mechanisms.base import Answer, State
from scoring.mechanisms.books import VACUOUS, count_question, show_level
from scoring.noise import ANSWER, COMPARISON


@dataclass(frozen=True)
class ScienceDemo:
    """Both are losses; the code has 4 / sqrt(n) and 1 / sqrt(n)."""

    threshold: Fraction
    tolerance: Fraction


def typical(rows: int) -> ScienceDemo:
    """Return the parameters of the paper's code for so many rows."""
    root = math.isqrt(rows * 10**12)
    return ScienceDemo(Fraction(4 * 10**6, root), Fraction(10**6, root))


def step(
    demo: ScienceDemo, state: State, measurement: Measurement, noise: GaussianNoise
) -> tuple[State, Answer]:
    """Confirm the reference while |holdout - reference| <= threshold + N(0, tolerance^2).

    Otherwise answer holdout + N(0, tolerance^2), clamped to [0, 1]. Every question draws fresh
    noise, also when it is asked again. The grid is the unit of the measurement, which stands for
    the code's exact numbers. No answer carries a certificate.
    """
    mean = measurement.holdout
    if measurement.reference is None:
        raise StateError("The demonstration needs a measurement on reference rows.")
    reference = level = measurement.reference.level(mean.whole)
    sigma, index = demo.tolerance * mean.whole, state.holdout.asked
    limit = demo.threshold * mean.whole + noise.gaussian(sigma, COMPARISON, index)
    corrected = abs(mean.units - reference) > limit
    if corrected:
        level = min(max(mean.units + noise.gaussian(sigma, ANSWER, index), 0), mean.whole)
    holdout = count_question(state.holdout, yes=corrected, alphabet=mean.whole + 1)
    answer = Answer(
        kind="corrected" if corrected else "confirmed",
        level=level,
        reference_level=reference,
        steps=mean.whole,
        width=VACUOUS,
        tolerance=VACUOUS,
        asked=holdout.asked,
    )
    return State(holdout, show_level(state.team, level)), answer
