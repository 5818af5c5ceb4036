"""Zhao: "Adaptive Statistical Learning with Bayesian Differential Privacy" (WPES 2017).

Theory.md 4.8 and 1.4. These hold for independent rows only: lemma 1, on which theorems 1 and 2
rest, is false for correlated ones (E15), and read literally even for independent ones (9.10). They
are here to compare with the paper; nothing that a board shows rests on them. For correlated rows
split and count by group instead, or use `markov_hoeffding_tail`.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)
from scoring.guarantees.dwork_nips import LOG2_E, max_information_of_privacy_iid


def theorem1_rows_star(
    budget: int, sigma: float, tau: float, beta: float, correlation: float
) -> float:
    """max(9 ln(4/beta) / tau^2, 9 B / (4 sigma (tau/3 - 4 a))); needs tau/3 > 4 a."""
    return _theorem1_rows(budget, sigma, tau, beta, nearby=0, loss=correlation)


def theorem1_rows_hash(
    budget: int, sigma: float, tau: float, beta: float, nearby: int, influence: float
) -> float:
    """max(9 ln(4/beta) / tau^2, 9 B (N + 1) / (4 sigma (tau/3 - 4 b))), for Markov quilts with N
    nearby rows of influence b; needs tau/3 > 4 b."""
    return _theorem1_rows(budget, sigma, tau, beta, nearby=nearby, loss=influence)


def theorem2_sigma(tau: float, questions: int, beta: float, c: float) -> float:
    """sigma = (1 - c) tau / (12 ln(4 m / beta)), with T = (1 + c) tau / 2 and 0 < c < 1."""
    require_probability(tau=tau, beta=beta, c=c)
    require_positive(questions=questions)
    return (1 - c) * tau / (12 * math.log(4 * questions / beta))


def theorem2_rows(tau: float, questions: int, beta: float, c: float, budget: int) -> float:
    """Theorem 1's rows at (1 - c) tau / 4 and beta / (2 m), for independent rows (the paper's (31)
    does not substitute them, theory.md E19)."""
    sigma = theorem2_sigma(tau, questions, beta, c)
    return theorem1_rows_hash(
        budget, sigma, (1 - c) * tau / 4, beta / (2 * questions), nearby=0, influence=0.0
    )


def theorem3_max_information(rows: int, epsilon: float, beta: float) -> float:
    """log2 e (2 epsilon^2 n + epsilon sqrt(2 n ln(2/beta))) bits, as printed."""
    require_positive(rows=rows)
    require_not_negative(epsilon=epsilon)
    require_probability(beta=beta)
    return LOG2_E * (2 * epsilon**2 * rows + epsilon * math.sqrt(2 * rows * math.log(2 / beta)))


def theorem3_max_information_repaired(rows: int, epsilon: float, beta: float) -> float:
    """Theorem 3 with the constants of NIPS theorem 8, which its repaired proof gives (E16)."""
    return max_information_of_privacy_iid(rows, epsilon, beta)


def lemma1_tail_printed(rows: int, tau: float, sensitivity: float) -> float:
    """4 exp(-tau^2 / (9 n Delta^2)) for epsilon <= tau / (3 n Delta), as printed: false (E15)."""
    require_positive(rows=rows, tau=tau, sensitivity=sensitivity)
    return 4 * math.exp(-(tau**2) / (9 * rows * sensitivity**2))


def lemma3_epsilon(epsilon: float, correlation: float) -> float:
    """epsilon' = epsilon - 4 a: this much DP implies epsilon-BDP; needs epsilon > 4 a."""
    require_not_negative(correlation=correlation)
    require(epsilon > 4 * correlation, "epsilon must be above four times the correlation.")
    return epsilon - 4 * correlation


def lemma4_epsilon(
    epsilon: float, gap: float, least: float, c: float, rows: int | None = None
) -> tuple[float, int, int]:
    """(h, d, s) for a stationary Markov chain with spectral gap g and least stationary chance rho:

    h = min((1 - 6 c) epsilon / (2 d - 1), (1/3 - 2 c) epsilon / (d + s)),
    d and s = ceil((1/g) ln((e^x + 1) / (rho (e^x - 1)))) at x = c epsilon and epsilon / 6 (E18).

    Needs 0 < c < 1/6 and, where `rows` is given, n >= 2 d.
    """
    require_positive(epsilon=epsilon)
    require(0 < gap <= 1 and 0 < least <= 1, "The gap and the least chance lie in (0, 1].")
    require(0 < c < 1 / 6, "c must lie strictly between 0 and 1/6.")
    d = _mixing(c * epsilon, gap, least)
    s = _mixing(epsilon / 6, gap, least)
    require(rows is None or rows >= 2 * d, f"At least {2 * d} rows are needed.")
    h = min((1 - 6 * c) * epsilon / (2 * d - 1), (1 / 3 - 2 * c) * epsilon / (d + s))
    return h, d, s


def markov_hoeffding_tail(rows: int, deviation: float, eigenvalue: float) -> float:
    """2 exp(-2 (1 - l)/(1 + l) n t^2) for a stationary reversible chain with second eigenvalue
    l = max(lambda_2, 0) (Leon and Perron 2004, statement recalled; checked for two states)."""
    require_positive(rows=rows)
    require_not_negative(deviation=deviation)
    require(0 <= eigenvalue < 1, "The eigenvalue lies in [0, 1).")
    return 2 * math.exp(-2 * (1 - eigenvalue) / (1 + eigenvalue) * rows * deviation**2)


def _theorem1_rows(
    budget: int, sigma: float, tau: float, beta: float, nearby: int, loss: float
) -> float:
    require_positive(budget=budget, sigma=sigma)
    require_probability(tau=tau, beta=beta)
    require_not_negative(nearby=nearby, loss=loss)
    require(tau / 3 > 4 * loss, "tau / 3 must be above four times the correlation.")
    sampling = 9 * math.log(4 / beta) / tau**2
    return max(sampling, 9 * budget * (nearby + 1) / (4 * sigma * (tau / 3 - 4 * loss)))


def _mixing(x: float, gap: float, least: float) -> int:
    return math.ceil(math.log((math.exp(x) + 1) / (least * math.expm1(x))) / gap)
