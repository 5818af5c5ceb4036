"""One step of each mechanism with its exact noise, beside a step with numpy's Laplace noise.

    python -m benchmarks.mechanisms [--steps N]

A step is what a worker does for one submission: key the noise, ask, answer, and certify it. The
baseline is Thresholdout in a few lines of floating point, with numpy.random.Generator.laplace; the
line "numpy noise" is our step with that noise instead of ours. Times are medians and 95th
percentiles in microseconds; the target is a median below 100.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from scoring.measurement import Mean, Measurement
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.noise import KeyedNoise, Noise

ROWS = 10_000
AGREES, DISAGREES = 3_000, 5_000  # holdout losses in rows, beside a reference of 3,000
SECRET = bytes(range(32))
TARGET = 100.0


@dataclass(frozen=True)
class Case:
    """A mechanism, its parameters, and the holdout's loss that decides which way it answers."""

    name: str
    mechanism: str
    raw: dict[str, str]
    units: int


CASES = (
    Case("Ladder, improved", "ladder", {}, 2_000),
    Case("Ladder, not improved", "ladder", {}, 4_000),
    Case("Qualification mark", "sparse_validate", {}, AGREES),
    *(
        Case(f"Thresholdout {form}, {answer}", "thresholdout", {"form": form}, units)
        for form in ("nips", "science", "zhao")
        for answer, units in (("confirmed", AGREES), ("corrected", DISAGREES))
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5000)
    steps = parser.parse_args().steps
    baseline = _times(_numpy_step(), steps)
    print(f"{'step':<32} {'median us':>10} {'95 % us':>9} {'x numpy':>8}")
    print(_line("plain numpy, corrected", baseline, baseline))
    print(_line("our step with numpy noise", _times(_step(CASES[4], _Numpy()), steps), baseline))
    found = {case.name: _times(_step(case), steps) for case in CASES}
    for name, times in found.items():
        print(_line(name, times, baseline))
    slowest = max(statistics.median(times) for times in found.values())
    reached = "reached" if slowest < TARGET else "missed"
    print(f"\nSlowest median {slowest:.0f} us: target of {TARGET:.0f} us {reached}.")


def _line(name: str, times: list[float], baseline: list[float]) -> str:
    median = statistics.median(times)
    high = statistics.quantiles(times, n=20)[-1]
    ratio = median / statistics.median(baseline)
    return f"{name:<32} {median:>10.1f} {high:>9.1f} {ratio:>8.1f}"


def _times(step: Callable[[int], object], steps: int) -> list[float]:
    """Microseconds of each step, after a warm-up."""
    for index in range(100):
        step(index)
    return list(_timed(step, steps))


def _timed(step: Callable[[int], object], steps: int) -> Iterator[float]:
    for index in range(steps):
        start = time.perf_counter()
        step(index)
        yield 1e6 * (time.perf_counter() - start)


class _Numpy:
    """Rounded floating-point noise, predictable and for this comparison only."""

    def __init__(self) -> None:
        self._draw = np.random.default_rng(0).laplace

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        return round(self._draw(0, float(scale)))


def _step(case: Case, instead: Noise | None = None) -> Callable[[int], object]:
    mechanism = MECHANISMS[case.mechanism]
    params: Any = mechanism.parse(case.raw)
    state = _state(case, params)
    measurement = Measurement(Mean(case.units, ROWS, 1), Mean(AGREES, ROWS, 1))
    keyed = KeyedNoise(SECRET, "holdout")

    def step(index: int) -> object:
        question = mechanism.question(params, state, measurement.reference)
        noise = instead or keyed.for_question(str(index), question, team="", board="")
        return mechanism.step(params, state, measurement, noise)

    return step


def _state(case: Case, params: Any) -> State:
    holdout = HoldoutState(asked=1000, answered=20, log_alphabets=92.0, firings=20)
    if case.mechanism == "ladder":
        return State(holdout, TeamState(best=15, last=15))
    budget = HoldoutState(1000, 20, 92.0, 20, budget_left=params.budget)
    return State(budget, TeamState(share_left=1))


def _numpy_step() -> Callable[[int], object]:
    generator = np.random.default_rng(0)
    threshold, sigma, reference, holdout = 0.04, 0.001, AGREES / ROWS, DISAGREES / ROWS

    def step(index: int) -> object:
        limit = threshold + generator.laplace(0, 2 * sigma)
        if abs(holdout - reference) > limit + generator.laplace(0, 4 * sigma):
            return min(max(holdout + generator.laplace(0, sigma), 0.0), 1.0)
        return reference

    return step


if __name__ == "__main__":
    main()
