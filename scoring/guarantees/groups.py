"""Rows that come in groups: how many independent rows they count as (theory.md 10.7).

Groups (days, patients, authors) are independent; the rows of one need not be, and none may be split
over sets (`scoring.split`). With w_g the share of the weight that group g has, a mean loss deviates

    by Hoeffding's bound as one of 1 / sum w_g^2 rows, and
    by Chernoff's (KL) bound as one of 1 / max w_g rows:

ln(1 - m + m e^(su)) is convex in u and 0 at u = 0, so at most u ln(1 - m + m e^s) for u from 0 to
1; then Jensen's inequality in m. Rows of different weights are groups of one row. Noise and the
grid follow the largest group: all its labels together move the mean by max w_g.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.conditions import require, require_not_negative
from scoring.guarantees.intervals import kl_cell_interval
from scoring.predictions.solution import Solution, Usage

Weights = NDArray[Any]
Bound = Literal["kl", "hoeffding"]
_MILLION: Final = 10**6
# What a design is chosen for, before any answer: a good entry, and what question 6,000 of a limit
# of 6,000 has at confidence .95 when nothing was learned: ln 2 - ln(.05 * .9 / 6,000).
EXPECTED_LOSS: Final = 0.25
LN_BUDGET: Final = 12.5


def sum_weights(groups: NDArray[np.int64], weights: Weights | None = None) -> Weights:
    """Return the weight of each group, given the number of each row's group; rows without weigh 1.

    Groups without a row are left out.
    """
    return np.bincount(groups, weights)[np.unique(groups)]


def kish(weights: Weights) -> float:
    """Return (sum w)^2 / sum w^2 of the groups' weights (Kish 1965), for Hoeffding's bound."""
    shares = _shares(weights)
    return math.fsum(shares) ** 2 / math.fsum(shares**2)


def max_weight(weights: Weights) -> float:
    """Return sum w / max w of the groups' weights: what the KL bound takes, and noise."""
    return math.fsum(_shares(weights))


def scatter_rows(losses: Weights, weights: Weights) -> float:
    """Return how many rows groups count as by how much their losses scatter: m (1 - m) / variance.

    losses: the mean loss of each group, of a baseline on the Public rows; m is their mean. weights:
        of the groups. It is an estimate, for the plain sampling error and no guarantee; it
        carries over to other groups as `kish` of theirs does.
    `kish` itself is for the worst case, losses of 0 or 1 that are the same in all of a group.
    """
    require(len(losses) > 1, "To scatter takes two groups.")
    shares = _shares(weights)
    shares /= math.fsum(shares)
    mean = math.fsum(shares * losses)
    squares = math.fsum((shares * (losses - mean)) ** 2) * len(losses) / (len(losses) - 1)
    worst = kish(weights)
    return max(worst, mean * (1 - mean) / squares) if squares else worst


@dataclass(frozen=True)
class Design:
    """What intervals count a set of rows as; published with the set, before any answer.

    bound: which of the two intervals take, for good. bound_rows: the rows that it takes.
    sampling_rows: those of the plain sampling error. largest_share: of the weight, in one group.
    All are rounded to a millionth, the rows down and the share up.
    """

    bound: Bound
    bound_rows: float
    sampling_rows: float
    largest_share: float

    def __post_init__(self) -> None:
        """Raise ConditionError for what no rows can have."""
        require(self.bound in get_args(Bound), "A design has one of the two bounds.")
        numbers = (self.bound_rows, self.sampling_rows, self.largest_share)
        require(all(0 < each < math.inf for each in numbers), "A design counts some rows.")

    @classmethod
    def of_rows(cls, rows: int) -> "Design":
        """Return the design of independent rows."""
        return cls("kl", rows, rows, 1 / rows)

    def interval(self, low: float, high: float, ln_budget: float) -> tuple[float, float]:
        """Cover the truth for any mean from low to high, within [0, 1], as `kl_cell_interval`."""
        if self.bound == "kl":
            return kl_cell_interval(self.bound_rows, low, high, ln_budget)
        require_not_negative(ln_budget=ln_budget)
        require(low <= high, "A cell has its low end first.")
        width = math.sqrt(ln_budget / (2 * self.bound_rows))
        return max(0.0, low - width), min(1.0, high + width)


def choose_design(weights: Weights, expected_loss: float, ln_budget: float) -> Design:
    """Return how to count groups of these weights: by the bound that is narrower where expected.

    expected_loss: what a good entry will have, from a baseline or Public rows. ln_budget: what an
        interval has to spend, ln 2 - ln beta_i. Neither may come from answers on these rows: of two
        bounds looked at afterwards the better one holds less often.
    """
    by_mean, by_largest = _floor(kish(weights)), _floor(max_weight(weights))
    share = -_floor(-1 / max_weight(weights))
    designs = (
        Design("kl", by_largest, by_mean, share),
        Design("hoeffding", by_mean, by_mean, share),
    )
    ends = (design.interval(expected_loss, expected_loss, ln_budget) for design in designs)
    kl, hoeffding = (high - low for low, high in ends)
    return designs[0] if kl <= hoeffding else designs[1]


def choose_designs(solution: Solution) -> dict[str, dict[str, Any]]:
    """Return how each set of a solution is counted, as JSON; empty where rows have no groups."""
    designs = dict[str, dict[str, Any]]()
    for usage in (Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL):
        rows = solution.usage == usage
        if solution.groups is not None and rows.any():
            weights = sum_weights(solution.groups[rows], solution.weights_of(rows))
            designs[usage.name.lower()] = asdict(choose_design(weights, EXPECTED_LOSS, LN_BUDGET))
    return designs


def design_of(designs: Mapping[str, Mapping[str, Any]], usage: Usage, rows: int) -> Design:
    """Return the published design of a set; without one that of its `rows`."""
    stored = designs.get(usage.name.lower())
    return Design(**stored) if stored else Design.of_rows(rows)


def _shares(weights: Weights) -> NDArray[np.float64]:
    """Return weights as shares of the largest, so that none is lost in a sum of squares."""
    require(len(weights) > 0, "There is at least one group.")
    heaviest = weights.max()
    require(bool(weights.min() >= 0 and heaviest > 0), "Weights are not negative, and not all 0.")
    shares: NDArray[np.float64] = weights / heaviest
    return shares


def _floor(number: float) -> float:
    return math.floor(number * _MILLION) / _MILLION
