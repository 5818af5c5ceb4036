"""Blum and Hardt: "The Ladder: A Reliable Leaderboard for Machine Learning Competitions" (2015).

The accuracy of the fixed-step Ladder by exact counting (theory.md 3.2), for one team and for
several that see each other's scores (3.5), and what boosting gains on an ordinary board (6.2).
"""

import math
from statistics import NormalDist

from research.bounds.boards import ladder_ln_count, ladder_values, ladder_width, union_width
from research.bounds.sums import ln_sum
from scoring.guarantees.conditions import require, require_positive, require_probability
from scoring.guarantees.counting import ln_binomial


def ladder_epsilon(rows: int, submissions: int, eta: float, beta: float) -> float:
    """Return sqrt((ln 2 + ln C(V + k - 1, k - 1) + ln(1/beta)) / (2 n))."""
    return union_width(rows, ladder_ln_count(submissions, eta), beta)


def best_ladder(rows: int, submissions: int, beta: float) -> tuple[float, float]:
    """Return the step 1/r with the smallest `ladder_width`, and that width, of r <= n."""
    best = (1.0, ladder_width(rows, submissions, 1.0, beta))
    r = 2
    while r <= rows and ladder_epsilon(rows, submissions, 1 / r, beta) < best[1]:  # grows with r
        width = ladder_width(rows, submissions, 1 / r, beta)
        if width < best[1]:
            best = (1 / r, width)
        r += 1
    return best


def ladder_epsilon_blum_hardt(rows: int, submissions: int, eta: float, beta: float) -> float:
    """Return the closed form of their theorem 3.1 at failure beta: P(error > epsilon + eta) <=
    exp(-2 epsilon^2 n + (1/eta + 2) ln(4 k / eta) + 1). Wider than the exact count.
    """
    require_positive(rows=rows, submissions=submissions)
    require(0 < eta <= 1, "A step lies between 0 and 1.")
    require_probability(beta=beta)
    description = (1 / eta + 2) * math.log(4 * submissions / eta) + 1
    return math.sqrt((description - math.log(beta)) / (2 * rows))


def joint_ladder_width(rows: int, submissions: int, eta: float, beta: float, teams: int) -> float:
    """Return eta + epsilon for g teams that see all scores: ln|F| <= ln sum over u <= min(k - 1, g
    V) of C(k, u + 1) V^u, with k submissions in total (theory.md 3.5).
    """
    require_positive(submissions=submissions, teams=teams)
    values = ladder_values(eta)
    updates = range(min(submissions - 1, teams * values) + 1)
    ln_count = ln_sum(ln_binomial(submissions, u + 1) + u * math.log(values) for u in updates)
    return eta + union_width(rows, ln_count, beta)


def boosting_loss(rows: int, submissions: int) -> float:
    """Return Phi(-sqrt(k / (pi n))): the loss that a majority of k random guesses shows on an
    ordinary board of n rows whose truth is 1/2, once each guess was kept or flipped by its score.
    """
    require_positive(rows=rows, submissions=submissions)
    return NormalDist().cdf(-math.sqrt(submissions / (math.pi * rows)))
