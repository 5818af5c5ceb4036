"""Rogers, Roth, Smith, Srebro, Thakkar, Woodworth: "Guaranteed Validity for Empirical Approaches to
Adaptive Data Analysis" (2020): widths by mutual information. Theory.md 4.7.

Their anytime accounting is in `ledger.py`.
"""

import math

from scoring.guarantees.conditions import (
    require_not_negative,
    require_positive,
    require_probability,
)

_GOLDEN = (math.sqrt(5) - 1) / 2
_SHRINKS = 80


def second_moment(rows: int, information: float) -> float:
    """Return E[(mean - truth)^2] <= min over 0 < l < 1 of (2 I - ln(1 - l)) / (4 n l), for a
    function of an output Y with I(S; Y) <= I nats (Donsker-Varadhan). Any l gives a bound, so a
    rough minimum is safe.
    """
    require_positive(rows=rows)
    require_not_negative(information=information)

    def bound(l_: float) -> float:
        return (2 * information - math.log1p(-l_)) / (4 * rows * l_)

    low, high = 0.0, 1.0
    for _ in range(_SHRINKS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if bound(left) <= bound(right):
            high = right
        else:
            low = left
    return bound((low + high) / 2)


def thresholdout_width(
    rows: int, questions: int, budget: int, threshold: float, sigma: float, beta: float
) -> float:
    """Return sqrt((A + Q + 2 sqrt(A Q)) / beta) after their theorem B.9: A is the second moment at
    I = B / (n sigma^2), Q = E[(T + M)^2] for the largest of m Lap(4 sigma) plus the largest of B
    Lap(2 sigma). Grows with 1/beta: use it for beta of at least 0.05 only.
    """
    require_positive(rows=rows, questions=questions, budget=budget, sigma=sigma)
    require_not_negative(threshold=threshold)
    require_probability(beta=beta)
    moment = second_moment(rows, budget / (rows * sigma**2))
    mean1, square1 = _largest_exponential(questions, 4 * sigma)
    mean2, square2 = _largest_exponential(budget, 2 * sigma)
    mean, square = mean1 + mean2, square1 + square2 + 2 * mean1 * mean2
    noise = threshold**2 + 2 * threshold * mean + square
    return math.sqrt((moment + noise + 2 * math.sqrt(moment * noise)) / beta)


def gaussian_width(rows: int, questions: int, rho: float, beta: float) -> float:
    """Return sqrt(xi / (2 n beta)) + (1/n) sqrt(ln(4 k / beta) / rho), xi = min over 0 < l < 1 of
    (2 k rho n - ln(1 - l)) / l, for k means answered with Gaussian noise of rho-zCDP each: half of
    beta for the sample's deviation, half for the noise (theory.md 4.7, 9.10).
    """
    require_positive(rows=rows, questions=questions, rho=rho)
    require_probability(beta=beta)
    xi = 4 * rows * second_moment(rows, questions * rho * rows)
    noise = math.sqrt(math.log(4 * questions / beta) / rho) / rows
    return math.sqrt(xi / (2 * rows * beta)) + noise


def _largest_exponential(count: int, scale: float) -> tuple[float, float]:
    """Return E[M] and E[M^2] of the largest of `count` exponentials: harmonic numbers H and H^2 +
    H_2.
    """
    harmonic = math.fsum(1 / k for k in range(1, count + 1))
    second = math.fsum(1 / k**2 for k in range(1, count + 1))
    return scale * harmonic, scale**2 * (harmonic**2 + second)
