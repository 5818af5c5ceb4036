"""What Thresholdout costs in differential privacy, and how costs convert (theory.md 1.1).

Sparse vector with threshold noise of scale b1 and comparison noise b2 costs Delta/b1 + 2 Delta/b2
per firing, however many questions did not fire before; an answer of scale b3 costs Delta/b3.
Delta = 1/n for means of range 1; for range R multiply epsilon by R and rho by R^2. An epsilon-DP
step is epsilon^2/2-zCDP. Neighbours differ in one row. `budget` is the number of firings in all.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)


def epsilon_nips(rows: int, budget: int, sigma: float) -> float:
    """Return 2 B / (sigma n): scales 2, 4 and 1 sigma (Dwork et al. 2015, NIPS)."""
    _require(rows, budget, sigma)
    return 2 * budget / (sigma * rows)


def epsilon_science(rows: int, budget: int, tau: float) -> float:
    """Return B / (tau n): scales 4, 8 and 2 tau (Dwork et al. 2015, Science, lemma 10)."""
    _require(rows, budget, tau)
    return budget / (tau * rows)


def epsilon_zhao(rows: int, budget: int, sigma: float) -> float:
    """Return 9 B / (4 sigma n): scales 1, 2 and 4 sigma (Zhao 2017, algorithm 1)."""
    _require(rows, budget, sigma)
    return 9 * budget / (4 * sigma * rows)


def epsilon_nips_advanced(rows: int, budget: int, sigma: float, ln_two_over_delta: float) -> float:
    """Return sqrt(32 B ln(2/delta)) / (sigma n), together with delta > 0 (lecture notes, S2)."""
    _require(rows, budget, sigma)
    require(ln_two_over_delta > math.log(2), "delta must be below 1.")
    return math.sqrt(32 * budget * ln_two_over_delta) / (sigma * rows)


def epsilon_science_advanced(rows: int, budget: int, tau: float, ln_two_over_delta: float) -> float:
    """Return sqrt(8 B ln(2/delta)) / (tau n) (Science, lemma 10): NIPS with sigma = 2 tau."""
    _require(rows, budget, tau)
    return epsilon_nips_advanced(rows, budget, 2 * tau, ln_two_over_delta)


def rho_nips(rows: int, budget: int, sigma: float) -> float:
    """Return zCDP rho = B / (sigma n)^2: half the square of 1, for the comparison and for the
    answer.
    """
    _require(rows, budget, sigma)
    return budget / (sigma * rows) ** 2


def rho_science(rows: int, budget: int, tau: float) -> float:
    """Return zCDP rho = B / (2 tau n)^2: the NIPS form with sigma = 2 tau."""
    _require(rows, budget, tau)
    return rho_nips(rows, budget, 2 * tau)


def rho_zhao(rows: int, budget: int, sigma: float) -> float:
    """Return zCDP rho = 2.03125 B / (sigma n)^2: half of 2^2 for the comparison and of (1/4)^2."""
    _require(rows, budget, sigma)
    return 2.03125 * budget / (sigma * rows) ** 2


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return rho + 2 sqrt(rho ln(1/delta)): rho-zCDP is (epsilon, delta)-DP (Bun, Steinke 2016)."""
    require_not_negative(rho=rho)
    require_probability(delta=delta)
    return rho + 2 * math.sqrt(-rho * math.log(delta))


def _require(rows: int, budget: int, scale: float) -> None:
    require_positive(rows=rows, scale=scale)
    require_not_negative(budget=budget)
