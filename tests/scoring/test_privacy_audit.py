"""An exact audit of Thresholdout on neighbouring holdouts, and of variants known to be broken.

The step itself is asked which sums of threshold and comparison noise fire, and at which scales it
draws them; the chances of transcripts then follow by summing over the exact laws. Neighbouring
holdouts differ in one row, which moves a holdout loss by at most one unit of the 0/1 loss.
"""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.mechanisms.thresholdout import Thresholdout, ThresholdoutParams
from scoring.noise import ANSWER, COMPARISON, THRESHOLD
from tests.scoring.fixed_noise import FixedNoise

ROWS = 200
SIGMA = Fraction(
    1, 20
)  # ten rows; more than `parse` allows, so that the threshold is often crossed
PARAMS = ThresholdoutParams(
    threshold=Fraction(1, 4),
    noise_scale=SIGMA,
    budget=1,
    team_share=1,
    steps=ROWS,
    confidence=Fraction(95, 100),
)
EPSILON = 2 / (float(SIGMA) * ROWS)  # claimed for one correction, half of it for the comparison
REFERENCE = 100
REACH = 1200  # beyond it the widest noise, of scale 40, has chances below 1e-12
RANGE = np.arange(-REACH, REACH + 1)

Law = NDArray[np.float64]


def step(units: int, noise: FixedNoise) -> tuple[State, str, int | None]:
    state = State(HoldoutState(budget_left=0), TeamState(share_left=1))
    measurement = Measurement(Mean(units, ROWS, 1), Mean(REFERENCE, ROWS, 1))
    after, answer = Thresholdout().step(PARAMS, state, measurement, noise)
    return after, answer.kind, answer.level


@functools.cache
def drawn_scale(draw: str) -> float:
    """The scale at which the step draws this noise."""
    noise = FixedNoise({THRESHOLD: [-ROWS], COMPARISON: [-ROWS], ANSWER: [0]})
    step(REFERENCE, noise)
    return float(next(scale for scale, name, _ in noise.asked if name == draw))


def law(scale: float) -> Law:
    """The chances of discrete Laplace noise on RANGE."""
    weights = np.exp(-np.abs(RANGE) / scale)
    chances: Law = weights / weights.sum()
    return chances


@functools.cache
def fires(units: int, threshold: int, comparison: int) -> bool:
    noise = FixedNoise({THRESHOLD: [threshold], COMPARISON: [comparison]})
    return step(units, noise)[1] == "corrected"


@functools.cache
def chances_of_firing(units: int, comparison_scale: float) -> Law:
    """The chance that the question fires, for each threshold noise of RANGE.

    Only the sum of both noises matters, so it is found where that sum stops firing.
    """
    sums = [fires(units, int(total), 0) for total in RANGE]
    last = int(RANGE[np.flatnonzero(sums)[-1]])
    assert all(sums[: last + REACH + 1])
    below = np.cumsum(law(comparison_scale))
    index = np.clip(last - RANGE + REACH, -1, 2 * REACH)
    found: Law = np.where(index < 0, 0.0, below[index])
    return found


def ln_chance(
    units: tuple[int, int],
    misses: int,
    threshold: Law,
    *,
    redrawn: bool = False,
) -> float:
    """ln of the chance of so many confirmations of one question and then a correction of another.

    The threshold persists over all of them, or is redrawn for each (the variant of theory.md E4).
    """
    comparison = drawn_scale(COMPARISON)
    missing = 1 - chances_of_firing(units[0], comparison)
    firing = chances_of_firing(units[1], comparison)
    if redrawn:
        return misses * math.log(threshold @ missing) + math.log(threshold @ firing)
    with np.errstate(divide="ignore"):
        terms = np.log(threshold) + misses * np.log(missing) + np.log(firing)
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


def worst_log_ratio(misses: int, threshold: Law, *, redrawn: bool = False) -> float:
    """Over many pairs of questions, on two neighbouring holdouts that move both by one row."""
    worst = 0.0
    for miss in range(REFERENCE, ROWS, 11):
        for hit in range(REFERENCE, ROWS, 11):
            here = ln_chance((miss, hit), misses, threshold, redrawn=redrawn)
            there = ln_chance((miss + 1, hit - 1), misses, threshold, redrawn=redrawn)
            worst = max(worst, abs(here - there))
    return worst


def persistent_threshold() -> Law:
    return law(drawn_scale(THRESHOLD))


def no_threshold() -> Law:
    return np.where(RANGE == 0, 1.0, 0.0)


def test_only_the_sum_of_the_two_noises_decides() -> None:
    generator = np.random.default_rng(1)
    for units in (100, 130, 160, 200):
        for threshold, comparison in generator.integers(-150, 150, size=(40, 2)).tolist():
            together = fires(units, threshold + comparison, 0)
            assert fires(units, threshold, comparison) == together


@pytest.mark.parametrize("misses", [1, 10, 100, 1000])
def test_a_comparison_costs_no_more_than_claimed(misses: int) -> None:
    assert worst_log_ratio(misses, persistent_threshold()) <= EPSILON / 2 + 1e-6


def test_the_claim_for_a_comparison_is_tight() -> None:
    assert worst_log_ratio(100, persistent_threshold()) >= 0.95 * EPSILON / 2


def test_a_released_level_costs_no_more_than_claimed_and_nearly_that() -> None:
    """Over all levels, for every pair of neighbouring holdouts on a coarse set."""
    chances = law(drawn_scale(ANSWER))
    ratios = []
    for units in (0, 60, 100, 199):
        here, there = (_level_chances(count, chances) for count in (units, units + 1))
        ratios.append(np.abs(np.log(here / there)).max())
    assert max(ratios) <= EPSILON / 2 + 1e-6
    assert max(ratios) >= 0.99 * EPSILON / 2


def _level_chances(units: int, chances: Law) -> Law:
    """The chance of each released level, asking the step for every noise of RANGE."""
    found = np.zeros(ROWS + 1)
    for added, chance in zip(RANGE.tolist(), chances, strict=True):
        noise = FixedNoise({THRESHOLD: [-10 * ROWS], ANSWER: [added]})
        level = step(units, noise)[2]
        assert level is not None
        found[level] += chance
    return found


@pytest.mark.parametrize("misses", [10, 100, 1000])
def test_a_threshold_redrawn_for_every_question_is_caught(misses: int) -> None:
    assert worst_log_ratio(misses, persistent_threshold(), redrawn=True) > EPSILON


@pytest.mark.parametrize("misses", [10, 100, 1000])
def test_a_missing_threshold_noise_is_caught(misses: int) -> None:
    assert worst_log_ratio(misses, no_threshold()) > EPSILON


def test_a_redrawn_threshold_costs_more_with_every_question() -> None:
    costs = [worst_log_ratio(m, persistent_threshold(), redrawn=True) for m in (10, 100, 1000)]
    assert costs[1] > 5 * costs[0]
    assert costs[2] > 5 * costs[1]
