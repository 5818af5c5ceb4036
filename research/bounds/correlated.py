"""What holds when rows are not independent: as many rows as there are effective ones.

Zhao's theorems do not repair correlated rows (theory.md E15); these do. Each gives a number
of rows that takes the place of n in any of the widths of this package, `ledger_width` too, because
each comes from a tail 2 exp(-2 n' t^2) for every fixed submission. Theory.md 4.8. For rows in
groups it is `scoring.guarantees.groups.kish`.
"""

import math

from research.bounds.markov import Chain
from scoring.guarantees.conditions import require, require_positive


def rows_of_chain(rows: int, chain: Chain) -> float:
    """Return n' = n (1 - l) / (1 + l) for a stationary reversible chain with second eigenvalue l,
    or 0 if that is negative (Leon and Perron 2004, as `zhao.markov_hoeffding_tail`).
    """
    require_positive(rows=rows)
    eigenvalue = chain.second_eigenvalue
    return rows * (1 - eigenvalue) / (1 + eigenvalue)


def whole_rows(effective: float) -> int:
    """Return the number of rows to count with: rounded down. Raises ConditionError below 1."""
    require(effective >= 1, "There is less than one effective row.")
    return math.floor(effective)
