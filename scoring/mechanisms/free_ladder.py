"""The parameter-free Ladder, under the name `heuristic`: it has no guarantee.

Blum and Hardt (2015), section 4: update when the best is beaten by one standard error s / sqrt(n)
of the difference, s being the sample standard deviation of the differences row by row. With
differences d of whole units that is, exactly and whatever n and the unit are,

    sum d > 0 and (sum d)^2 > sum d^2,

because (n - 1) s^2 = sum d^2 - (sum d)^2 / n. For 0/1 losses with a rows newly right and b newly
wrong: a > b and (a - b)^2 > a + b (theory.md 3.4). Flipping two predictions at a time walks it down
far below the true loss. It is here so that experiments can show that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement, Paired
from scoring.mechanisms.base import (
    Answer,
    HoldoutState,
    Kind,
    MetricFacts,
    RowCounts,
    State,
    TeamState,
)
from scoring.mechanisms.books import VACUOUS, check_level, count_question, grid_level, show_level
from scoring.noise import Noise
from scoring.parameters import Parameter, parse_all


def compare(leader: NDArray[np.int64], losses: NDArray[np.int64]) -> Paired:
    """A submission beside the leader, from the losses of the n rows in whole units."""
    differences = leader - losses
    return Paired(int(differences.sum()), int(np.square(differences).sum()))


def improves(leader: NDArray[np.bool_] | None, wrong: NDArray[np.bool_]) -> bool:
    """Whether a submission replaces the leader, from which of the n rows each has wrong.

    The first submission, with no leader, always does.
    """
    return leader is None or _beats(compare(leader.astype(np.int64), wrong.astype(np.int64)))


def _beats(paired: Paired) -> bool:
    return paired.gain > 0 and paired.gain**2 > paired.squares


@dataclass(frozen=True)
class FreeLadderParams:
    """There is nothing to set."""


class FreeLadder:
    """Shows a team's exact loss when it beats the team's best by one standard error.

    It needs a measurement that compares the submission with the team's leader row by row. For
    experiments only: `check` refuses every competition, and no answer carries a certificate.
    """

    name = "heuristic"
    title = "Parameter-free Ladder (heuristic)"
    description = (
        "The board moves when a submission beats its team's best by one standard error of the "
        "difference, and then shows the exact score. This is a rule of thumb without a guarantee: "
        "changing two predictions at a time walks it down far below the true loss."
    )
    parameters: tuple[Parameter, ...] = ()

    def parse(self, raw: Mapping[str, object]) -> FreeLadderParams:
        parse_all(self.parameters, raw)
        return FreeLadderParams()

    def check(self, params: FreeLadderParams, metric: MetricFacts, counts: RowCounts) -> None:
        raise ParameterError(
            "mechanism",
            "The parameter-free Ladder is for experiments only: it has no guarantee, and changing "
            "two predictions at a time walks its board down far below the true loss. Use the "
            "Ladder with a fixed step.",
        )

    def initial_holdout(self, params: FreeLadderParams) -> HoldoutState:
        return HoldoutState()

    def initial_team(
        self, params: FreeLadderParams, holdout: HoldoutState
    ) -> tuple[HoldoutState, TeamState]:
        return holdout, TeamState()

    def question(
        self, params: FreeLadderParams, state: State, reference: Mean | None = None
    ) -> str:
        best = "none" if state.team.best is None else state.team.best
        return f"heuristic best={best}"

    def step(
        self, params: FreeLadderParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        mean = measurement.holdout
        check_level(state.team, mean.whole)
        improved = state.team.best is None or _beats(_paired(measurement))
        holdout = count_question(state.holdout, yes=improved, alphabet=mean.whole + 1)
        team = _lead(mean) if improved else state.team
        kind: Kind = "improved" if improved else "not_improved"
        answer = Answer(
            kind=kind,
            level=team.best,
            reference_level=grid_level(measurement.reference, mean.whole),
            steps=mean.whole,
            width=VACUOUS,
            tolerance=VACUOUS,
            counted=True,
            asked=holdout.asked,
        )
        return State(holdout, team), answer


def _lead(mean: Mean) -> TeamState:
    return show_level(TeamState(), mean.units)


def _paired(measurement: Measurement) -> Paired:
    if measurement.paired is None:
        raise StateError("The parameter-free Ladder needs a comparison with the team's leader.")
    return measurement.paired
