"""Dwork, Feldman, Hardt, Pitassi, Reingold, Roth: "The reusable holdout" (Science 349:636, 2015),
supplement: theorem 6, corollary 7, theorem 8, lemma 10, the budgets and theorem 11. Theory.md 4.3
and 4.4.

`tau` is the noise unit and the tolerance of the paper. Means of range 1 over independent rows; the
paper's Figure S1 takes functions to [-1, 1], which doubles every epsilon (theory.md E3).
"""

import math

from research.bounds.privacy import epsilon_science, epsilon_science_advanced
from research.bounds.sums import ln_sum
from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)


def theorem6_epsilon(rows: int, ln_beta: float) -> float:
    """Return sqrt(ln(1/beta) / (2 n)): the most epsilon that theorem 6 takes."""
    require_positive(rows=rows)
    require(ln_beta < 0, "beta must be below 1.")
    return math.sqrt(-ln_beta / (2 * rows))


def theorem6_ln_tail(rows: int, epsilon: float, ln_beta: float) -> float:
    """Return ln of 3 sqrt(beta), at most 0: the chance of a bad set chosen by an epsilon-DP
    algorithm, where every fixed one has at most the chance beta. Needs epsilon <=
    `theorem6_epsilon`.
    """
    require_not_negative(epsilon=epsilon)
    most = theorem6_epsilon(rows, ln_beta)
    require(epsilon <= most, f"Theorem 6 needs epsilon of at most {most:.6g}.")
    return min(0.0, math.log(3) + ln_beta / 2)


def corollary7_tail(rows: int, tau: float, epsilon: float = 0.0) -> float:
    """Return P(|truth - mean| > tau) <= 6 e^(-tau^2 n) for a function chosen with epsilon <= tau.

    For one function; it may be above 1, and underflows to 0 where `corollary7_ln_tail` does not.
    """
    return math.exp(corollary7_ln_tail(rows, tau, epsilon))


def corollary7_ln_tail(rows: int, tau: float, epsilon: float = 0.0) -> float:
    """Return ln 6 - tau^2 n. Needs epsilon <= tau."""
    _require_tau(rows, tau)
    require_not_negative(epsilon=epsilon)
    require(epsilon <= tau, "Corollary 7 needs epsilon of at most tau.")
    return math.log(6) - tau**2 * rows


def theorem8_rows(tau: float, beta: float) -> float:
    """Return n >= 48 ln(8/beta) / tau^2, with epsilon <= tau/4 and delta <= (beta/8)^(4/tau)."""
    require_probability(tau=tau, beta=beta)
    return 48 * math.log(8 / beta) / tau**2


def theorem8_ln_delta(tau: float, beta: float) -> float:
    """Return ln of the delta in theorem 8, (4/tau) ln(beta/8): the delta itself underflows a
    double.
    """
    require_probability(tau=tau, beta=beta)
    return 4 / tau * math.log(beta / 8)


def theorem8_tail(rows: int, tau: float, beta: float, epsilon: float, ln_delta: float) -> float:
    """Return beta, the bound on P(|truth - mean| > tau), once all three conditions of theorem 8
    hold.
    """
    needed = theorem8_rows(tau, beta)
    require(rows >= needed, f"Theorem 8 needs at least {math.ceil(needed)} rows.")
    require_not_negative(epsilon=epsilon)
    require(epsilon <= tau / 4, "Theorem 8 needs epsilon of at most tau / 4.")
    require(ln_delta <= theorem8_ln_delta(tau, beta), "Theorem 8 needs a smaller delta.")
    return beta


def lemma10_pure(rows: int, budget: int, tau: float) -> float:
    """Return epsilon = B / (tau n) of the form `science`, for a threshold that persists (theory.md
    E4).
    """
    return epsilon_science(rows, budget, tau)


def lemma10_approximate(rows: int, budget: int, tau: float, ln_two_over_delta: float) -> float:
    """Return epsilon = sqrt(8 B ln(2/delta)) / (tau n), together with delta > 0. Larger than the
    pure one for B < 8 ln(2/delta); its proof needs epsilon below 4 ln(2/delta) (theory.md E9).
    """
    epsilon = epsilon_science_advanced(rows, budget, tau, ln_two_over_delta)
    require(epsilon <= 4 * ln_two_over_delta, "Lemma 10 needs epsilon below 4 ln(2/delta).")
    return epsilon


def budget_pure(rows: int, tau: float) -> float:
    """Return tau^2 n: the budget that pure privacy pays for (printed without n, E5). Floor it."""
    _require_tau(rows, tau)
    return tau**2 * rows


def budget_approximate_printed(rows: int, tau: float, beta: float) -> float:
    """Return tau^5 n^2 / (512 ln(8/beta)) as printed: it drops a ln 2 and overshoots (theory.md
    E6).
    """
    return _budget(rows, tau, beta, dropped=0.0)


def budget_approximate(rows: int, tau: float, beta: float) -> float:
    """Return tau^4 n^2 / (128 (ln 2 + (4/tau) ln(8/beta))). Floor it."""
    return _budget(rows, tau, beta, dropped=math.log(2))


def theorem11_tail_printed(rows: int, tau: float, t: float) -> float:
    """Return 6 e^(-tau^2 n) + e^(-t/8) as printed: false for adaptive analysts, who can wait for a
    large threshold (theory.md E7). For comparison only.
    """
    require_not_negative(t=t)
    return corollary7_tail(rows, tau) + math.exp(-t / 8)


def theorem11_tail_printed_approximate(beta: float, t: float) -> float:
    """Return beta + e^(-t/8), the second half as printed; false like the first. For comparison
    only.
    """
    require_probability(beta=beta)
    require_not_negative(t=t)
    return beta + math.exp(-t / 8)


def theorem11_tail(
    rows: int, tau: float, budget: int, t: float, u: float, questions: int = 1
) -> float:
    """Return P(a question is answered and off by more than T + (t + 1) tau).

    For a threshold that persists, for any split 0 < u < t (theory.md 4.4):

    6 m e^(-tau^2 n) + (B/2) e^(-u/4) + (m/2) e^(-(t-u)/8) + min(m, B) e^(-t/2),

    for m `questions` at once, at most min(m, B) of which are corrected; at most 1. Needs
    B <= tau^2 n.
    """
    require(budget <= budget_pure(rows, tau), "The budget must be at most tau^2 n.")
    ln_sampling = corollary7_ln_tail(rows, tau)
    return _theorem11_tail(ln_sampling, budget, t, u, questions)


def theorem11_tail_approximate(
    rows: int, tau: float, beta: float, budget: int, t: float, u: float, questions: int = 1
) -> float:
    """Return the same through theorem 8: m beta for the first term. Needs n >= `theorem8_rows`,
    which the paper leaves out (theory.md E6), and B <= `budget_approximate`.
    """
    needed = theorem8_rows(tau, beta)
    require(rows >= needed, f"Theorem 8 needs at least {math.ceil(needed)} rows.")
    allowed = budget_approximate(rows, tau, beta)
    require(budget <= allowed, f"The budget must be at most {math.floor(allowed)}.")
    return _theorem11_tail(math.log(beta), budget, t, u, questions)


def _theorem11_tail(ln_sampling: float, budget: int, t: float, u: float, questions: int) -> float:
    require(0 < u < t, "u must lie strictly between 0 and t.")
    require_positive(budget=budget, questions=questions)
    thresholds = math.log(budget / 2) - u / 4
    comparisons = math.log(questions / 2) - (t - u) / 8
    answers = math.log(min(questions, budget)) - t / 2
    ln_tail = ln_sum([math.log(questions) + ln_sampling, thresholds, comparisons, answers])
    return math.exp(min(0.0, ln_tail))


def _budget(rows: int, tau: float, beta: float, dropped: float) -> float:
    _require_tau(rows, tau)
    require_probability(beta=beta)
    return tau**4 * rows**2 / (128 * (dropped + 4 / tau * math.log(8 / beta)))


def _require_tau(rows: int, tau: float) -> None:
    require_positive(rows=rows)
    require_probability(tau=tau)
