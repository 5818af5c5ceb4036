"""Confidence intervals for a mean of [0, 1] losses over independent rows.

Rows may be effective ones, no whole number: of groups and weights, see `groups`.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)

_HALVINGS = 100  # more than the bits of a double


def bonferroni_width(rows: float, finalists: int, beta: float) -> float:
    """Return sqrt(ln(2 F / beta) / (2 n)) for F files fixed before the rows (theory.md 5.14)."""
    require_positive(rows=rows, finalists=finalists)
    require_probability(beta=beta)
    return math.sqrt(math.log(2 * finalists / beta) / (2 * rows))


def wilson_interval(mean: float, rows: float, beta: float) -> tuple[float, float]:
    """Return Wilson's score interval (1927) for one proportion: the plain sampling error, roughly.

    It does not account for anything that was learned from the rows. For losses between 0 and 1 that
    are not 0 or 1 it is wider than needed.
    """
    _require_mean(mean)
    require_positive(rows=rows)
    require_probability(beta=beta)
    z2 = NormalDist().inv_cdf(1 - beta / 2) ** 2
    centre = (mean + z2 / (2 * rows)) / (1 + z2 / rows)
    half = math.sqrt(z2 * (mean * (1 - mean) / rows + z2 / (4 * rows**2))) / (1 + z2 / rows)
    return max(0.0, centre - half), min(1.0, centre + half)


def kl_divergence(observed: float, truth: float) -> float:
    """Return kl(p || q) of two coins in nats; infinite where q excludes what p has."""
    return _relative(observed, truth) + _relative(1 - observed, 1 - truth)


def kl_lower(rows: float, mean: float, ln_budget: float) -> float:
    """Return the smallest q with n kl(mean || q) <= ln_budget, from below (Chernoff).

    `ln_budget` is ln(number of functions * sides / beta).
    """
    _require_kl(rows, mean, ln_budget)
    return _search(lambda q: rows * kl_divergence(mean, q) > ln_budget, outside=0.0, inside=mean)


def kl_upper(rows: float, mean: float, ln_budget: float) -> float:
    """Return the largest q with n kl(mean || q) <= ln_budget, from above (Chernoff)."""
    _require_kl(rows, mean, ln_budget)
    return _search(lambda q: rows * kl_divergence(mean, q) > ln_budget, outside=1.0, inside=mean)


def kl_interval(rows: float, mean: float, ln_count: float, beta: float) -> tuple[float, float]:
    """Return the ends of {q: n kl(mean || q) <= ln 2 + ln|F| + ln(1 / beta)} (theory.md 4.5).

    Its ends at the raw mean would reveal the raw mean: evaluate it at released values only, with
    `kl_cell_interval`.
    """
    require_probability(beta=beta)
    require_not_negative(ln_count=ln_count)
    return kl_cell_interval(rows, mean, mean, math.log(2) + ln_count - math.log(beta))


def kl_cell_interval(rows: float, low: float, high: float, ln_budget: float) -> tuple[float, float]:
    """Cover the truth for any mean in a grid cell [low, high], clipped to [0, 1] (theory.md 2.1).

    A released value v on a grid of step 2 h has the cell [v - h, v + h]. For a board that did not
    move, the mean is at least R - eta: take [R - eta, 1].
    """
    require(low <= high, "A cell has its low end first.")
    lower = kl_lower(rows, min(max(low, 0.0), 1.0), ln_budget)
    upper = kl_upper(rows, min(max(high, 0.0), 1.0), ln_budget)
    return lower, upper


def _relative(part: float, whole: float) -> float:
    if part == 0:
        return 0.0
    return math.inf if whole <= 0 else part * math.log(part / whole)


def _search(fails: Callable[[float], bool], outside: float, inside: float) -> float:
    """Bisect between a point that may fail and one that does not; end on the side that fails."""
    if not fails(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        if middle in (outside, inside):  # neighbours: nothing lies between them
            break
        if fails(middle):
            outside = middle
        else:
            inside = middle
    return outside


def _require_mean(mean: float) -> None:
    require(0 <= mean <= 1, "A mean loss lies between 0 and 1.")


def _require_kl(rows: float, mean: float, ln_budget: float) -> None:
    require_positive(rows=rows)
    require_not_negative(ln_budget=ln_budget)
    _require_mean(mean)
