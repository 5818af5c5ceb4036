"""Dwork, Feldman, Hardt, Pitassi, Reingold, Roth: "The reusable holdout" (Science 349:636, 2015),
supplement: corollary 7, theorems 8 and 11, and the budgets. Theory.md 4.3 and 4.4.

`tau` is the noise unit and the tolerance of the paper.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)


def corollary7_tail(rows: int, tau: float) -> float:
    """P(|truth - mean| > tau) <= 6 e^(-tau^2 n) for a function chosen with epsilon <= tau."""
    _require_tau(rows, tau)
    return 6 * math.exp(-(tau**2) * rows)


def theorem8_rows(tau: float, beta: float) -> float:
    """n >= 48 ln(8/beta) / tau^2, with epsilon <= tau/4 and delta <= (beta/8)^(4/tau)."""
    require_probability(tau=tau, beta=beta)
    return 48 * math.log(8 / beta) / tau**2


def theorem8_ln_delta(tau: float, beta: float) -> float:
    """ln of the delta in theorem 8, (4/tau) ln(beta/8): the delta itself underflows a double."""
    require_probability(tau=tau, beta=beta)
    return 4 / tau * math.log(beta / 8)


def budget_pure(rows: int, tau: float) -> float:
    """tau^2 n: the budget that pure privacy pays for (printed without n, E5). Floor it."""
    _require_tau(rows, tau)
    return tau**2 * rows


def budget_approximate_printed(rows: int, tau: float, beta: float) -> float:
    """tau^5 n^2 / (512 ln(8/beta)) as printed: it drops a ln 2 and overshoots (theory.md E6)."""
    return _budget(rows, tau, beta, dropped=0.0)


def budget_approximate(rows: int, tau: float, beta: float) -> float:
    """tau^4 n^2 / (128 (ln 2 + (4/tau) ln(8/beta))). Floor it."""
    return _budget(rows, tau, beta, dropped=math.log(2))


def theorem11_tail_printed(rows: int, tau: float, t: float) -> float:
    """6 e^(-tau^2 n) + e^(-t/8) as printed: false for adaptive analysts, who can wait for a large
    threshold (theory.md E7). For comparison only."""
    require_not_negative(t=t)
    return corollary7_tail(rows, tau) + math.exp(-t / 8)


def theorem11_tail(rows: int, tau: float, budget: int, t: float, u: float) -> float:
    """P(answered and off by more than T + (t + 1) tau), for one question and a threshold that
    persists, for any split 0 < u < t (theory.md 4.4):

    6 e^(-tau^2 n) + (B/2) e^(-u/4) + (1/2) e^(-(t-u)/8) + e^(-t/2).

    For all m questions multiply the first and third term by m, the last by B.
    """
    require(0 < u < t, "u must lie strictly between 0 and t.")
    require_positive(budget=budget)
    require(budget <= budget_pure(rows, tau), "The budget must be at most tau^2 n.")
    thresholds = budget / 2 * math.exp(-u / 4)
    comparisons = math.exp(-(t - u) / 8) / 2
    return corollary7_tail(rows, tau) + thresholds + comparisons + math.exp(-t / 2)


def _budget(rows: int, tau: float, beta: float, dropped: float) -> float:
    _require_tau(rows, tau)
    require_probability(beta=beta)
    return tau**4 * rows**2 / (128 * (dropped + 4 / tau * math.log(8 / beta)))


def _require_tau(rows: int, tau: float) -> None:
    require_positive(rows=rows)
    require_probability(tau=tau)
