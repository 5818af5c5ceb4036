"""Sums of numbers that are far too large for doubles."""

import math
from collections.abc import Iterable


def ln_sum(logarithms: Iterable[float]) -> float:
    """Return ln of the sum of the numbers whose logarithms are given."""
    values = list(logarithms)
    top = max(values)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))
