"""Simulated fields of entries: which of their pairs the finals will tell apart."""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.rank_sets import Rows, pair_level, rank_entries

SPREAD: Final = 0.08
SHARED: Final = 0.8  # of the variance of what is hard in a row
MOST_ENTRIES: Final = 60
MOST_ROWS: Final = 30_000


def draw_field(
    rows: int, entries: int, loss: float, generator: np.random.Generator, spread: float = SPREAD
) -> NDArray[np.int8]:
    """Draw the losses of entries within a spread, which find the same rows hard.

    An entry errs where the row's difficulty and an error of its own are in the top of a normal;
    four fifths of the variance are the row's. Most are near the middle of the field: their losses
    are quantiles of a normal whose standard deviation is a quarter of the spread.
    """
    hard = math.sqrt(SHARED) * generator.standard_normal(rows)
    own = math.sqrt(1 - SHARED) * generator.standard_normal((entries, rows))
    field = NormalDist(loss, spread / 4)
    ends = field.cdf(loss - spread / 2), field.cdf(loss + spread / 2)
    truth = [field.inv_cdf(each) for each in np.linspace(*ends, entries)]
    thresholds = np.array([NormalDist().inv_cdf(1 - each) for each in truth])
    return (hard + own > thresholds[:, np.newaxis]).astype(np.int8)


def share_separated(
    rows: int, teams: int, loss: float, beta: float, code: float, generator: np.random.Generator
) -> float:
    """Return which share of the pairs of a field of two-class entries the finals tell apart.

    code: the nats of all that was said of the rows, 0 for Final ones. Of more than 60 teams, 60 are
    drawn and tested as strictly as all would be.
    """
    entries = min(teams, MOST_ENTRIES)
    if entries < 2:
        return 0.0
    spread = min(SPREAD, loss)
    losses = draw_field(min(rows, MOST_ROWS), entries, loss, generator, spread)
    pairs = entries * (entries - 1)
    level = pair_level(beta, code) * pairs / (teams * (teams - 1))
    better = rank_entries(losses, losses, Rows(two_classes=True), units=1, level=level).better
    return float(better.sum() / (pairs / 2))
