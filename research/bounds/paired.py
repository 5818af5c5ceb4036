"""A paired test that nothing serves: by the KL bound, for losses that differ by anything."""

import math

from scoring.guarantees.conditions import require, require_positive
from scoring.guarantees.intervals import kl_divergence


def p_kl(differ: int, mean: float) -> float:
    """Return exp(-D kl((1 + x)/2 || 1/2)) for x > 0, else 1: of "A is not better than B".

    differ: D, the rows on which predictions differ. mean: x, the mean over them of B's loss less
        A's. It is weaker than betting where most differences are small or 0 (theory.md 10.6).
    """
    require_positive(differ=differ)
    require(-1 <= mean <= 1, "Losses of 0 to 1 differ by at most 1.")
    return math.exp(-differ * kl_divergence((1 + mean) / 2, 0.5)) if mean > 0 else 1.0
