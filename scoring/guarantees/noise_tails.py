"""Tails and quantiles of the noise that mechanisms add."""

import math

from scoring.guarantees.conditions import require, require_positive

_SLACK = 1e-9  # more than the rounding of the logarithms below, so that quantiles err upwards


def ln_discrete_laplace_upper_tail(scale: float, z: int) -> float:
    """Return ln P(Z >= z) = -z/t - ln(1 + e^(-1/t)), z >= 1, for P(Z) proportional to exp(-|Z| /
    t).
    """
    require_positive(scale=scale)
    require(z >= 1, "The one-sided tail is for z of at least 1.")
    return -z / scale - math.log1p(math.exp(-1 / scale))


def discrete_laplace_upper_quantile(scale: float, ln_beta: float) -> int:
    """Return the smallest z >= 0, up to rounding, with P(Z > z) <= beta; never too small."""
    require_positive(scale=scale)
    target = ln_beta - _SLACK
    excess = -target - math.log1p(math.exp(-1 / scale))
    z = max(0, math.ceil(scale * excess) - 1)
    while ln_discrete_laplace_upper_tail(scale, z + 1) > target:
        z += 1
    return z


def discrete_laplace_quantile(scale: float, ln_beta: float) -> int:
    """Return the smallest z >= 0, up to rounding, with P(|Z| > z) <= beta; never too small."""
    return discrete_laplace_upper_quantile(scale, ln_beta - math.log(2))
