"""Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld: "A New Analysis of Differential Privacy's
Generalization Guarantees" (2020), applied to Thresholdout. Theory.md 4.7, where it is proved.
"""

import math
from collections.abc import Callable
from typing import Final

from research.bounds.privacy import epsilon_from_rho, epsilon_nips, rho_nips
from scoring.errors import ConditionError
from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)

_FINEST_FACTOR: Final = 1.001


def transfer(
    alpha: float, beta_sample: float, epsilon: float, delta: float, c: float, d: float
) -> tuple[float, float]:
    """Return (alpha', beta') on the population, for all questions at once.

    From (alpha, beta_sample) on the sample and (epsilon, delta)-DP, for any c, d > 0; independent
    rows, answers in [0, 1]:

    alpha' = alpha + (e^epsilon - 1) + c + 2 d, beta' = beta_sample / c + delta / d.
    """
    require_not_negative(alpha=alpha, beta_sample=beta_sample, epsilon=epsilon, delta=delta)
    require_positive(c=c)
    require(d > 0 or (d == 0 and delta == 0), "d must be positive, or 0 together with delta.")
    failure = beta_sample / c + (delta / d if d else 0.0)
    return alpha + math.expm1(epsilon) + c + 2 * d, failure


def thresholdout_noise(
    rows: int, questions: int, budget: int, sigma: float, beta_sample: float
) -> float:
    """Return 2 sigma ln(3 B / (2 beta_s)) + 4 sigma ln(3 m / (2 beta_s)): all the noise between an
    answer and the sample, besides T, with chance 1 - beta_s. It does not depend on the rows.
    """
    require_positive(rows=rows, questions=questions, budget=budget, sigma=sigma)
    require_probability(beta_sample=beta_sample)
    thresholds = 2 * sigma * math.log(3 * budget / (2 * beta_sample))
    comparisons = 4 * sigma * math.log(3 * questions / (2 * beta_sample))
    return thresholds + comparisons


def thresholdout_width(
    rows: int,
    questions: int,
    budget: int,
    threshold: float,
    sigma: float,
    beta: float,
    c: float,
    d: float,
) -> float:
    """Apply the transfer theorem to Thresholdout by its zCDP cost: beta_s = beta c / 2 and delta
    = beta d / 2. Fix sigma, c and d in advance. Pure privacy can be better (9.10).
    """
    require_positive(c=c, d=d)
    require_probability(beta=beta)
    require_not_negative(threshold=threshold)
    beta_sample, delta = beta * c / 2, beta * d / 2
    epsilon = epsilon_from_rho(rho_nips(rows, budget, sigma), delta)
    noise = thresholdout_noise(rows, questions, budget, sigma, beta_sample)
    return transfer(threshold + noise, beta_sample, epsilon, delta, c, d)[0]


def thresholdout_width_pure(
    rows: int,
    questions: int,
    budget: int,
    threshold: float,
    sigma: float,
    beta: float,
    c: float,
) -> float:
    """Apply it by its pure cost: beta_s = beta c and delta = d = 0. Fix sigma and c in
    advance, and which of the two is used (theory.md 9.10).
    """
    require_positive(c=c)
    require_probability(beta=beta)
    require_not_negative(threshold=threshold)
    beta_sample = beta * c
    noise = thresholdout_noise(rows, questions, budget, sigma, beta_sample)
    epsilon = epsilon_nips(rows, budget, sigma)
    require(epsilon < 1, "A mean that may be off by 1 says nothing.")
    return transfer(threshold + noise, beta_sample, epsilon, 0.0, c, 0.0)[0]


def best_thresholdout_width(rows: int, questions: int, budget: int, beta: float) -> float:
    """Return the narrowest of both over sigma, c and d, without the threshold T (theory.md 4.9); a
    function of numbers that are known in advance.
    """
    pure = _descend(
        lambda x: thresholdout_width_pure(rows, questions, budget, 0.0, x[0], beta, x[1]),
        [math.sqrt(budget / rows), 0.01],
    )
    approximate = _descend(
        lambda x: thresholdout_width(rows, questions, budget, 0.0, x[0], beta, x[1], x[2]),
        [math.sqrt(budget) / rows**0.75, 0.01, 0.001],
    )
    return min(pure, approximate)


def _descend(width: Callable[[list[float]], float], start: list[float]) -> float:
    """Descend coordinate by coordinate; any point is a valid bound, so a rough minimum is safe."""
    point, best, factor = start, _or_infinite(width, start), 4.0
    while factor > _FINEST_FACTOR:
        neighbours = [
            [value * (change if i == moved else 1) for i, value in enumerate(point)]
            for moved in range(len(point))
            for change in (factor, 1 / factor)
        ]
        found = min(neighbours, key=lambda x: _or_infinite(width, x))
        if _or_infinite(width, found) < best:
            point, best = found, _or_infinite(width, found)
        else:
            factor = math.sqrt(factor)
    return best


def _or_infinite(width: Callable[[list[float]], float], point: list[float]) -> float:
    try:
        return width(point)
    except (ConditionError, OverflowError):
        return math.inf
