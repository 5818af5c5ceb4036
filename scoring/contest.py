"""Final entries against each other: their losses row by row, which nobody but the tests sees."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.rank_sets import RankSets, Rows, rank_entries
from scoring.measurement import Secret
from scoring.measuring import final_mask
from scoring.metrics.base import Metric, Parameters
from scoring.predictions import Predictions, Solution
from scoring.predictions.codes import row_codes

# Only so many are compared, the first in their order; nothing is known of later ones.
MOST_ENTRIES: Final = 2000

# (shape, type) -> an array of zeros, in memory or not
Allocate = Callable[[tuple[int, int], Any], NDArray[Any]]


class Contest(Secret):
    """What all entries lose on each row, to be tested once and forgotten.

    `take` each of the entries, in an order that is fixed before these rows have a part in anything,
    then `rank` them.
    """

    def __init__(
        self,
        metric: Metric,
        params: Parameters,
        solution: Solution,
        entries: int,
        allocate: Allocate = np.zeros,
    ) -> None:
        self._metric, self._params, self._solution = metric, params, solution
        self._mask = final_mask(solution)
        weights, groups = solution.weights, solution.groups
        is_plain = weights is None and groups is None
        self._rows = Rows(
            two_classes=is_plain and metric.is_wrong_class(solution.schema),
            weights=None if weights is None else weights[self._mask],
            groups=None
            if groups is None
            else np.unique(groups[self._mask], return_inverse=True)[1],
        )
        shape = entries, int(np.count_nonzero(self._mask))
        self._losses = allocate(shape, np.uint8 if metric.units == 1 else np.int32)
        # Plain bets don't ask where predictions differ: rows whose losses are alike change nothing.
        self._coded = self._rows.two_classes or not is_plain
        code = np.uint8 if self._rows.two_classes else np.uint64
        self._codes = allocate(shape, code) if self._coded else np.broadcast_to(np.uint8(0), shape)

    def take(self, entry: int, predictions: Predictions) -> None:
        """Note what an entry loses, and predicts, on each row. Raise StateError."""
        self._losses[entry] = self._metric.count_rows(
            predictions, self._solution, self._mask, self._params
        )
        if self._coded:
            self._codes[entry] = row_codes(predictions, self._mask)

    def rank(self, level: float) -> RankSets:
        """Return the rank sets of all entries, with Holm's procedure at this level."""
        units = self._metric.units
        return rank_entries(self._losses, self._codes, self._rows, units=units, level=level)
