"""Logarithms of counts that are far too large for doubles."""

import math
from collections.abc import Iterable


def ln_binomial(total: int, chosen: int) -> float:
    """ln C(total, chosen); minus infinity where it is 0."""
    if not 0 <= chosen <= total:
        return -math.inf
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def ln_sum(logarithms: Iterable[float]) -> float:
    """ln of the sum of the numbers whose logarithms are given."""
    values = list(logarithms)
    top = max(values)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))
