"""The parameter-free Ladder: a heuristic without a guarantee, and not offered as a mechanism.

Blum and Hardt (2015), section 4: update when the best is beaten by one standard error of the
difference. For 0/1 losses with a rows newly right and b newly wrong that is, exactly and whatever
n, a > b and (a - b)^2 > a + b. Flipping two predictions at a time walks it down far below the true
loss (theory.md 3.4). It is here so that experiments can show that.
"""

import numpy as np
from numpy.typing import NDArray


def improves(leader: NDArray[np.bool_] | None, wrong: NDArray[np.bool_]) -> bool:
    """Whether a submission replaces the leader, from which of the n rows each has wrong.

    The first submission, with no leader, always does.
    """
    if leader is None:
        return True
    newly_right = int(np.count_nonzero(leader & ~wrong))
    newly_wrong = int(np.count_nonzero(~leader & wrong))
    gain = newly_right - newly_wrong
    return gain > 0 and gain**2 > newly_right + newly_wrong
