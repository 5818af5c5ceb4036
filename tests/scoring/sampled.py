"""Whether numbers that were drawn have the law that they should."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import stats

from scoring.noise import Bytes

SAMPLES = 4000


def check_law(
    sampler: Callable[[Fraction, Bytes], int], weight: Callable[[int], float], scale: Fraction
) -> None:
    """A chi-square test of a fixed stream, cells with fewer than 5 expected draws pooled."""
    source = np.random.default_rng(20150806).bytes
    drawn = Counter(sampler(scale, source) for _ in range(SAMPLES))
    span = range(-math.ceil(40 * scale) - 10, math.ceil(40 * scale) + 11)
    total = math.fsum(map(weight, span))
    expected = {z: SAMPLES * weight(z) / total for z in span}
    cells = [z for z in span if expected[z] >= 5]
    observed = [drawn[z] for z in cells]
    wanted = [expected[z] for z in cells]
    rest = SAMPLES - math.fsum(wanted)
    if rest >= 1:
        observed.append(SAMPLES - sum(observed))
        wanted.append(rest)
    statistic = sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True))
    assert stats.chi2.sf(statistic, len(wanted) - 1) > 1e-3
