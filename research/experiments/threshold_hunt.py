"""Waiting for a large threshold: why theorem 11 of Dwork et al. (Science 2015) fails as printed.

Its tail exp(-t/8) treats the threshold's noise as fresh, but the noise stays until something fires.
The hunter asks the same question, off by T + (t + 1) tau, until the board has let it pass often
enough that the active threshold must be large, goes on with harmless questions, and then asks
one question with an error of T + (t + 1) tau. Rows are many enough for sampling error to vanish.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from research.bounds.dwork_science import theorem11_tail
from research.experiments.boards import MechanismBoard
from research.experiments.results import (
    Comparison,
    Panel,
    Result,
    Samples,
    Series,
    Table,
    compare_share,
)
from scoring.measurement import Mean

# Everything in units of tau, with the scales that the supplement prints: sigma = 2 tau.
THRESHOLD_SCALE: Final = 4.0
COMPARISON_SCALE: Final = 8.0
CASES: Final = ((1000, 10), (10_000, 20), (100, 8))
EARLIER: Final = {(1000, 10): 0.68, (10_000, 20): 0.59, (100, 8): 0.41}
PROBES: Final = range(1, 41)
PRODUCT_CASE: Final = (100, 8)
PRODUCT_RUNS_PER_RUN: Final = 10  # one of the product's runs for so many of the vectorised ones

_GRID: Final = np.linspace(-160.0, 320.0, 9601)  # its points include every kink


@dataclass(frozen=True)
class Hunt:
    """`probes` questions must pass, each as far off as the last one."""

    budget: int
    t: float
    probes: int

    def chance(self) -> float:
        """Integrate the chance of the last question passing with its error."""
        density = np.exp(-np.abs(_GRID) / THRESHOLD_SCALE) / (2 * THRESHOLD_SCALE)
        step = _GRID[1] - _GRID[0]
        passes = _passes(_GRID, self.t + 1)
        found = float((density * passes**self.probes).sum() * step)
        passed = float((density * passes ** (self.probes + 1)).sum() * step)
        return -math.expm1(self.budget * math.log1p(-found)) * passed / found


def best_hunt(budget: int, t: float) -> Hunt:
    """Return the number of probes that succeeds most often."""
    return max((Hunt(budget, t, probes) for probes in PROBES), key=Hunt.chance)


def printed_bound(t: float) -> float:
    """Return the second term of theorem 11; the first, 6 exp(-tau^2 n), is 0 here."""
    return math.exp(-t / 8)


def corrected_bound(budget: int, t: float) -> float:
    """Return the corrected tail at its best split u, without the sampling term."""
    plenty = 10**12  # rows: exp(-tau^2 n) vanishes
    splits = np.linspace(0, t, 101)[1:-1].tolist()
    return min(theorem11_tail(plenty, 0.01, budget, t, u) for u in splits)


def _passes(threshold: Samples, distance: float) -> Samples:
    """Return the chance that a question so far above T stays silent, given the threshold noise."""
    excess = (threshold - distance) / COMPARISON_SCALE
    return np.where(excess < 0, np.exp(np.minimum(excess, 0)) / 2, 1 - np.exp(-np.abs(excess)) / 2)


def simulate(hunt: Hunt, runs: int, generator: np.random.Generator) -> int:
    """Count in how many runs the last question passed, all runs at once, threshold by threshold."""
    wins, searching = 0, runs
    for _ in range(hunt.budget):
        threshold = generator.laplace(0, THRESHOLD_SCALE, searching)
        comparisons = generator.laplace(0, COMPARISON_SCALE, (hunt.probes, searching))
        found = (threshold + comparisons >= hunt.t + 1).all(axis=0)
        last = threshold[found] + generator.laplace(0, COMPARISON_SCALE, np.count_nonzero(found))
        wins += int(np.count_nonzero(last >= hunt.t + 1))
        searching -= int(np.count_nonzero(found))
        if searching == 0:
            break
    return wins


@dataclass(frozen=True)
class ProductHunt:
    """How the hunt ended in front of our Thresholdout, whose certificates count the hunter in."""

    won: bool
    error: float
    tolerance: float


def product_hunt(hunt: Hunt, generator: np.random.Generator) -> ProductHunt:
    """Hunt through the mechanism itself: tau = 1/200, T = 1/5, a million rows."""
    tau, threshold, rows = Fraction(1, 200), Fraction(1, 5), 10**6
    raw = {
        "threshold": threshold,
        "noise_scale": 2 * tau,
        "budget": hunt.budget,
        "team_share": hunt.budget,
        "steps": 1000,
    }
    board = MechanismBoard("thresholdout", raw, generator)
    error = threshold + (Fraction(hunt.t) + 1) * tau
    off = Mean(int(error * rows), rows, 1), Mean(0, rows, 1)
    passed = 0
    while passed < hunt.probes:
        answer = board.ask(*off)
        if answer.kind == "exhausted":
            return ProductHunt(False, 0.0, answer.tolerance)
        passed = passed + 1 if answer.kind == "confirmed" else 0
    last = board.ask(*off)
    won = last.kind == "confirmed"
    return ProductHunt(won, float(error) if won else 0.0, last.tolerance)


def run(
    runs: int,
    seed: int,
    cases: tuple[tuple[int, int], ...] = CASES,
    product_case: tuple[int, int] = PRODUCT_CASE,
) -> Result:
    """Compare simulated, integrated and printed chances; our mechanism under the same hunter."""
    generator = np.random.default_rng(seed)
    hunts = [best_hunt(budget, t) for budget, t in cases]
    wins = [simulate(hunt, runs, generator) for hunt in hunts]
    product_runs = max(1, runs // PRODUCT_RUNS_PER_RUN)
    product = [product_hunt(best_hunt(*product_case), generator) for _ in range(product_runs)]
    comparisons = [
        compare_share(f"budget {hunt.budget}, t={hunt.t}", won, runs, hunt.chance())
        for hunt, won in zip(hunts, wins, strict=True)
    ]
    comparisons.append(_product_comparison(product_case, product))
    return Result(
        "thresholdhunt",
        "Waiting for a large threshold: theorem 11 of Dwork et al. (2015)",
        {"runs": runs, "seed": seed},
        tuple(comparisons),
        (_bounds_table(hunts, wins, runs), _product_table(product)),
        (_panel(cases, wins, runs),),
    )


def _product_comparison(case: tuple[int, int], product: list[ProductHunt]) -> Comparison:
    hunt = best_hunt(*case)
    return compare_share(
        f"our Thresholdout, budget {hunt.budget}, t={hunt.t}",
        sum(outcome.won for outcome in product),
        len(product),
        hunt.chance(),
    )


def _bounds_table(hunts: list[Hunt], wins: list[int], runs: int) -> Table:
    return Table(
        "Chance of an answer that is off by more than T + (t + 1) tau",
        ("case", "probes", "hunter", "a simpler hunter", "theorem 11 as printed", "corrected"),
        tuple(
            (
                f"budget {hunt.budget}, t={hunt.t}",
                hunt.probes,
                won / runs,
                EARLIER.get((hunt.budget, int(hunt.t))),
                printed_bound(hunt.t),
                corrected_bound(hunt.budget, hunt.t),
            )
            for hunt, won in zip(hunts, wins, strict=True)
        ),
    )


def _product_table(product: list[ProductHunt]) -> Table:
    return Table(
        "Our Thresholdout: its certificate takes the largest threshold so far into account",
        ("runs", "won", "error of the last answer", "smallest tolerance for it", "broken"),
        (
            (
                len(product),
                sum(outcome.won for outcome in product),
                max(outcome.error for outcome in product),
                min((outcome.tolerance for outcome in product if outcome.won), default=None),
                sum(outcome.error > outcome.tolerance for outcome in product),
            ),
        ),
    )


def _panel(cases: tuple[tuple[int, int], ...], wins: list[int], runs: int) -> Panel:
    budget = cases[0][0]
    t = range(1, 101, 3)
    series = (
        Series("hunter, integrated", t, [best_hunt(budget, x).chance() for x in t], "ours"),
        Series("theorem 11 as printed", t, [printed_bound(x) for x in t], "other"),
        Series("corrected bound", t, [corrected_bound(budget, x) for x in t], "third"),
        Series("hunter, simulated", [float(cases[0][1])], [wins[0] / runs], "ours", marks=True),
    )
    return Panel(f"Budget {budget}", "t", "chance of a larger error", series, log_y=True)
