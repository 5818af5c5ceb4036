"""Tails of noise and of means that only experiments and proofs use."""

import math

from scoring.guarantees.conditions import require_not_negative, require_positive
from scoring.guarantees.intervals import bonferroni_width
from scoring.guarantees.noise_tails import ln_discrete_laplace_upper_tail


def discrete_laplace_tail(scale: float, z: int) -> float:
    """Return P(|Z| >= z) for z >= 1: 2 e^(-z/t) / (1 + e^(-1/t)) (theory.md 1.5)."""
    return 2 * math.exp(ln_discrete_laplace_upper_tail(scale, z))


def laplace_sum_upper_tail(a: float, b: float, x: float) -> float:
    """Return P(Lap(a) + Lap(b) > x) for continuous independent Laplace noise, x >= 0 (theory.md
    4.4).

    (b^2 e^(-x/b) - a^2 e^(-x/a)) / (2 (b^2 - a^2)), and its limit (2 + x/a) e^(-x/a) / 4 for a = b.
    """
    require_positive(a=a, b=b)
    require_not_negative(x=x)
    if a == b:
        return (2 + x / a) * math.exp(-x / a) / 4
    numerator = b * b * math.exp(-x / b) - a * a * math.exp(-x / a)
    return numerator / (2 * (b * b - a * a))


def hoeffding_tail(rows: int, deviation: float) -> float:
    """Return P(|mean - truth| >= t) <= 2 e^(-2 n t^2) (Hoeffding 1963), for one fixed file."""
    require_positive(rows=rows)
    require_not_negative(deviation=deviation)
    return 2 * math.exp(-2 * rows * deviation**2)


def hoeffding_width(rows: int, beta: float) -> float:
    """Return sqrt(ln(2 / beta) / (2 n)): the inverse of `hoeffding_tail`."""
    return bonferroni_width(rows, 1, beta)
