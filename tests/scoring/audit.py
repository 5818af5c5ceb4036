"""An exact audit of Thresholdout: the worst log-ratio of a transcript on neighbouring holdouts.

A transcript is so many confirmations of one question, then a correction of another with what it
releases, and all of that several times over. The step itself is asked which sums of threshold and
comparison noise fire, at which scales it draws them, and whether it still answers; the chances of
transcripts then follow by summing over the exact laws. Neighbouring holdouts differ in one row,
which moves a 0/1 loss by at most one unit.

What is known to be broken is a `Variant` of how the noises are used, and is audited alike.
"""

import functools
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.mechanisms.forms import FORMS
from scoring.mechanisms.thresholdout import Thresholdout, ThresholdoutParams
from scoring.noise import ANSWER, COMPARISON, THRESHOLD
from tests.scoring.fixed_noise import FixedNoise

ROWS = 200
REFERENCE = 100
REACH = 900  # beyond it the widest noise, of scale 40, has chances below 1e-9
RANGE = np.arange(-REACH, REACH + 1)
LEVELS = np.arange(ROWS + 1)
UNITS = range(REFERENCE + 1, ROWS, 19)  # of questions that miss or hit
# Ten to forty rows; more than `parse` allows, so that the threshold is often crossed.
NOISE_SCALE = {"nips": Fraction(1, 20), "science": Fraction(1, 40), "zhao": Fraction(1, 20)}

Law = NDArray[np.float64]


@dataclass(frozen=True)
class Variant:
    """How the noises are used: as they should be, unless said otherwise."""

    threshold: Literal["persistent", "redrawn", "none"] = "persistent"
    answer: Literal["fresh", "comparison"] = "fresh"
    capped: bool = True


SOUND = Variant()


@dataclass(frozen=True)
class Audit:
    """A form under audit, at a budget of one correction."""

    form: str

    @property
    def params(self) -> ThresholdoutParams:
        return ThresholdoutParams(
            threshold=Fraction(1, 4),
            noise_scale=NOISE_SCALE[self.form],
            budget=1,
            team_share=1,
            steps=ROWS,
            confidence=Fraction(95, 100),
            form=self.form,
        )

    @property
    def claimed(self) -> float:
        """Epsilon of the whole budget."""
        return float(Thresholdout().epsilon(self.params, ROWS))

    def step(self, units: int, noise: FixedNoise, share: int = 1) -> tuple[State, Answer]:
        state = State(HoldoutState(budget_left=0), TeamState(share_left=share))
        measurement = Measurement(Mean(units, ROWS, 1), Mean(REFERENCE, ROWS, 1))
        return Thresholdout().step(self.params, state, measurement, noise)

    def worst_ratio(
        self, misses: int, variant: Variant = SOUND, corrections: int = 1, releases: bool = True
    ) -> float:
        """The largest |log-ratio| over pairs of questions that the change moves either way, and
        over all released levels (or none, if `releases` is False, for the comparison alone)."""
        rounds = corrections
        if variant.capped:
            rounds = min(corrections, self._answered())
        worst = 0.0
        for miss in UNITS:
            for hit in UNITS:
                here = self._ln_chances((miss, hit), misses, variant, releases)
                there = self._ln_chances((miss + 1, hit - 1), misses, variant, releases)
                worst = max(worst, float(np.abs(here - there).max()))
        return rounds * worst

    def fires(self, units: int, threshold: int, comparison: int) -> bool:
        return _fires(self, units, threshold, comparison)

    def scale(self, draw: str) -> float:
        """The scale at which the step draws this noise."""
        return _drawn_scale(self, draw)

    def _answered(self) -> int:
        """How many corrections the step gives before a team of this budget is exhausted."""
        noise = FixedNoise({THRESHOLD: [-10 * ROWS]})
        count, share = 0, self.params.team_share
        while (found := self.step(REFERENCE, noise, share))[1].kind == "corrected":
            count, share = count + 1, found[0].team.share_left or 0
        return count

    def _ln_chances(
        self, units: tuple[int, int], misses: int, variant: Variant, releases: bool
    ) -> Law:
        """For each released level, ln of the chance of the misses, the hit and that level."""
        threshold = self._threshold(variant)
        missing = 1 - _firing(self, units[0])
        with np.errstate(divide="ignore"):
            if variant.threshold == "redrawn":
                ln_misses = misses * np.log(threshold @ missing) + np.log(threshold)
            else:
                ln_misses = np.log(threshold) + misses * np.log(missing)
            if variant.answer == "comparison":
                return _ln_sum(ln_misses + np.log(self._hit_with_level(units[1])))
            hit = _ln_sum((ln_misses + np.log(_firing(self, units[1])))[None, :])
            return hit + np.log(_released(self, units[1])) if releases else hit

    def _threshold(self, variant: Variant) -> Law:
        if variant.threshold == "none":
            return np.where(RANGE == 0, 1.0, 0.0)
        return _law(self.scale(THRESHOLD))

    def _hit_with_level(self, units: int) -> Law:
        """[level, threshold noise] -> the chance that the comparison's noise fires and, added to
        the loss once more, gives that level; for some levels inside the grid, none clamped."""
        comparison = _law(self.scale(COMPARISON))
        added = LEVELS[1:-1:8] - units
        last = _last_firing(self, units)
        fires = added[:, None] + RANGE[None, :] <= last
        found: Law = np.where(fires, comparison[added + REACH][:, None], 0.0)
        return found


def _ln_sum(terms: Law) -> Law:
    """ln of the sum over the last axis; terms of chance 0 on both holdouts stay equal."""
    top = np.maximum(terms.max(axis=-1), -1e6)
    summed = np.exp(terms - top[..., None]).sum(axis=-1)
    found: Law = top + np.log(np.maximum(summed, 1e-300))
    return found


@functools.cache
def _law(scale: float) -> Law:
    """The chances of discrete Laplace noise on RANGE."""
    weights = np.exp(-np.abs(RANGE) / scale)
    chances: Law = weights / weights.sum()
    return chances


@functools.cache
def _drawn_scale(audit: Audit, draw: str) -> float:
    noise = FixedNoise({THRESHOLD: [-ROWS], COMPARISON: [-ROWS], ANSWER: [0]})
    audit.step(REFERENCE, noise)
    return float(next(scale for scale, name, _ in noise.asked if name == draw))


@functools.cache
def _fires(audit: Audit, units: int, threshold: int, comparison: int) -> bool:
    noise = FixedNoise({THRESHOLD: [threshold], COMPARISON: [comparison]})
    return audit.step(units, noise)[1].kind == "corrected"


@functools.cache
def _last_firing(audit: Audit, units: int) -> int:
    """Only the sum of threshold and comparison noise matters; up to this one it fires."""
    stops = bisect_left(RANGE.tolist(), True, key=lambda total: not audit.fires(units, total, 0))
    return int(RANGE[stops]) - 1


@functools.cache
def _firing(audit: Audit, units: int) -> Law:
    """The chance that the question fires, for each threshold noise of RANGE."""
    below = np.cumsum(_law(audit.scale(COMPARISON)))
    index = np.clip(_last_firing(audit, units) - RANGE + REACH, -1, 2 * REACH)
    found: Law = np.where(index < 0, 0.0, below[index])
    return found


@functools.cache
def _released(audit: Audit, units: int) -> Law:
    """The chance of each released level, asking the step for every noise of RANGE."""
    found = np.zeros(ROWS + 1)
    for added, chance in zip(RANGE.tolist(), _law(audit.scale(ANSWER)), strict=True):
        noise = FixedNoise({THRESHOLD: [-10 * ROWS], ANSWER: [added]})
        level = audit.step(units, noise)[1].level
        assert level is not None
        found[level] += chance
    return found


def ratio_to_claim(form: str, misses: int, variant: Variant = SOUND, corrections: int = 1) -> float:
    """The worst log-ratio as a multiple of the claimed epsilon: at most 1 if the claim is true."""
    audit = Audit(form)
    return audit.worst_ratio(misses, variant, corrections) / audit.claimed


FORM_NAMES = sorted(FORMS)
ROUNDING = 1e-6
