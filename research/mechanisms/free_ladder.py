"""The parameter-free Ladder, which competitions know under the name `heuristic` and refuse.

Blum and Hardt (2015), section 4: update when the best is beaten by one standard error s / sqrt(n)
of the difference, s being the sample standard deviation of the differences row by row. With
differences d of whole units that is, exactly and whatever n and the unit are,

    sum d > 0 and (sum d)^2 > sum d^2,

because (n - 1) s^2 = sum d^2 - (sum d)^2 / n. For 0/1 losses with a rows newly right and b newly
wrong: a > b and (a - b)^2 > a + b (theory.md 3.4). It has no guarantee: flipping two predictions at
a time walks it down far below the true loss. It is here so that experiments can show that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.errors import StateError
from scoring.measurement import Mean
from scoring.mechanisms.base import Answer, State, TeamState
from scoring.mechanisms.books import VACUOUS, check_level, count_question, show_level


@dataclass(frozen=True)
class Paired:
    """A submission beside its team's leader, row by row, in units of the loss.

    `gain` is the sum over rows of (leader's loss - submission's loss), `squares` the sum of the
    squares of these differences.
    """

    gain: int
    squares: int

    @property
    def improves(self) -> bool:
        """Whether the gain is more than one standard error of it."""
        return self.gain > 0 and self.gain**2 > self.squares


def compare(leader: NDArray[np.int64], losses: NDArray[np.int64]) -> Paired:
    """Compare a submission with the leader, from the losses of the n rows in whole units."""
    differences = leader - losses
    return Paired(int(differences.sum()), int(np.square(differences).sum()))


def improves(leader: NDArray[np.bool_] | None, wrong: NDArray[np.bool_]) -> bool:
    """Decide whether a submission replaces the leader, from which of the n rows each has wrong.

    The first submission, with no leader, always does.
    """
    return leader is None or compare(leader.astype(np.int64), wrong.astype(np.int64)).improves


def step(state: State, mean: Mean, paired: Paired | None) -> tuple[State, Answer]:
    """Show a team's exact loss when it beats the team's best by one standard error.

    `paired` compares the submission with the team's leader; None for a team's first one. No answer
    carries a certificate.
    """
    check_level(state.team, mean.whole)
    if state.team.best is not None and paired is None:
        raise StateError("The parameter-free Ladder needs a comparison with the team's leader.")
    improved = paired is None or paired.improves
    holdout = count_question(state.holdout, yes=improved, alphabet=mean.whole + 1)
    team = show_level(TeamState(), mean.units) if improved else state.team
    answer = Answer(
        kind="improved" if improved else "not_improved",
        level=team.best,
        reference_level=None,
        steps=mean.whole,
        width=VACUOUS,
        tolerance=VACUOUS,
        asked=holdout.asked,
    )
    return State(holdout, team), answer
