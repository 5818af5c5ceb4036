"""The Gaussian demonstration of the Science paper (Data S1), as its code does it.

It is not an instance of Thresholdout: the threshold carries no noise, nothing is capped, one
standard deviation serves comparison and answer, and none of the paper's theorems covers it
(theory.md 1.3). It is here so that experiments can repeat the paper's figures.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Answer,
    HoldoutState,
    Kind,
    MetricFacts,
    RowCounts,
    State,
    TeamState,
)
from scoring.mechanisms.books import VACUOUS, count_question, show_level
from scoring.noise import ANSWER, COMPARISON, Noise
from scoring.parameters import Parameter, parse_all


@dataclass(frozen=True)
class ScienceDemoParams:
    """Both are losses; the code has 4 / sqrt(n) and 1 / sqrt(n)."""

    threshold: Fraction
    tolerance: Fraction


class ScienceDemo:
    """Confirms the reference while |holdout - reference| <= threshold + N(0, tolerance^2), and
    otherwise answers holdout + N(0, tolerance^2), clamped to [0, 1].

    Every question draws fresh noise, also when it is asked again. The grid is the unit of the
    measurement, which stands for the code's exact numbers. For experiments only: `check` refuses
    every competition, and no answer carries a certificate.
    """

    name = "science_demo"
    title = "Gaussian demonstration"
    description = (
        "The rule of the code that came with the Science paper: a threshold without noise and "
        "answers without a budget. It repeats that paper's figures and guarantees nothing."
    )
    parameters = (
        Parameter(
            name="threshold",
            title="Threshold",
            help="How far reference and holdout may lie apart; 4 / sqrt(rows) in the paper's code.",
            kind="fraction",
            default=Fraction(4, 100),
            minimum=Fraction(0),
            maximum=Fraction(1),
        ),
        Parameter(
            name="tolerance",
            title="Tolerance",
            help="Standard deviation of the noise; 1 / sqrt(rows) in the paper's code.",
            kind="fraction",
            default=Fraction(1, 100),
            minimum=Fraction(1, 10_000_000),
            maximum=Fraction(1),
        ),
    )

    def parse(self, raw: Mapping[str, object]) -> ScienceDemoParams:
        return ScienceDemoParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters

    def check(self, params: ScienceDemoParams, metric: MetricFacts, counts: RowCounts) -> None:
        raise ParameterError(
            "mechanism",
            "The Gaussian demonstration is for experiments only: without noise on its threshold "
            "and without a budget, no theorem covers it. Use Thresholdout.",
        )

    def initial_holdout(self, params: ScienceDemoParams) -> HoldoutState:
        return HoldoutState()

    def initial_team(
        self, params: ScienceDemoParams, holdout: HoldoutState
    ) -> tuple[HoldoutState, TeamState]:
        return holdout, TeamState()

    def question(
        self, params: ScienceDemoParams, state: State, reference: Mean | None = None
    ) -> str:
        return f"science_demo threshold={params.threshold} tolerance={params.tolerance}"

    def step(
        self, params: ScienceDemoParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        mean, reference = measurement.holdout, _level(measurement)
        sigma, index = params.tolerance * mean.whole, state.holdout.asked
        limit = params.threshold * mean.whole + noise.gaussian(sigma, COMPARISON, index)
        corrected = abs(mean.units - reference) > limit
        level = reference
        if corrected:
            noisy = mean.units + noise.gaussian(sigma, ANSWER, index)
            level = min(max(noisy, 0), mean.whole)
        holdout = count_question(state.holdout, yes=corrected, alphabet=mean.whole + 1)
        kind: Kind = "corrected" if corrected else "confirmed"
        answer = Answer(
            kind=kind,
            level=level,
            reference_level=reference,
            steps=mean.whole,
            width=VACUOUS,
            tolerance=VACUOUS,
            counted=True,
            asked=holdout.asked,
        )
        return State(holdout, show_level(state.team, level)), answer


def typical(rows: int) -> dict[str, str]:
    """The parameters of the paper's code for so many rows, as texts for `parse`."""
    root = math.isqrt(rows * 10**12)
    return {"threshold": str(Fraction(4 * 10**6, root)), "tolerance": str(Fraction(10**6, root))}


def _level(measurement: Measurement) -> int:
    if measurement.reference is None:
        raise StateError("The demonstration needs a measurement on reference rows.")
    return measurement.reference.level(measurement.holdout.whole)
