"""Logarithms of counts that are far too large for doubles."""

import math


def ln_binomial(total: int, chosen: int) -> float:
    """Return ln C(total, chosen); minus infinity where it is 0."""
    if not 0 <= chosen <= total:
        return -math.inf
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
