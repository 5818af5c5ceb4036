"""The Ladder with a fixed step.

Blum and Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions" (2015),
algorithm 1; theory.md 3.1 and 3.3. It is SparseValidate with the question "is the loss below this
team's best by more than one step?": a yes releases the loss rounded to the grid, a no repeats the
best so far. Every yes lowers the best by at least a step, so a team can climb at most `steps` + 1
times and needs no budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.errors import StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Answer,
    HoldoutState,
    MetricFacts,
    RowCounts,
    State,
    TeamState,
)
from scoring.mechanisms.books import (
    VACUOUS,
    check_level,
    count_question,
    grid_level,
    question_width,
    show_level,
)
from scoring.mechanisms.fitness import CONFIDENCE, MAXIMUM_STEPS, check_grid, check_has_rows
from scoring.noise import Noise
from scoring.parameters import Parameter, parse_all


@dataclass(frozen=True)
class LadderParams:
    """The step eta is 1 / steps; `confidence` is 1 - beta."""

    steps: int
    confidence: Fraction

    @property
    def alphabet(self) -> int:
        """The most values that an answer can have: the whole grid, at a team's first."""
        return self.steps + 1


class Ladder:
    """Shows a team's loss only when it beats the team's best by more than a step.

    With N = rows * resolution and a best level j, a loss of c units improves iff
    c * steps < N * (j - 1), and is then shown as floor((2 c steps + N) / (2 N)), one of the j
    levels below j; the first submission is always shown, as one of steps + 1 levels. These are the
    alphabets of the ledger. Exact integers: a tie with the step is not an improvement.

    "improved" is within w and half a step of the truth; "not_improved" certifies that the
    submission's loss is at least the shown one less a step and w. What may never change: on
    "not_improved" nothing depends on the measurement of the private rows.
    """

    name = "ladder"
    title = "Ladder"
    description = (
        "The board moves only when a submission beats its team's best by more than one step, and "
        "shows scores rounded to that step. Otherwise a team learns that it did not improve, and "
        "nothing else."
    )
    parameters = (
        Parameter(
            name="steps",
            title="Steps",
            help=(
                "How many steps the board has between a loss of 0 and a loss of 1: 50 means that "
                "scores move in steps of 0.02. Fewer steps protect better: certificates get "
                "narrower, but small improvements stay unseen."
            ),
            kind="integer",
            default=50,
            minimum=2,
            maximum=MAXIMUM_STEPS,
        ),
        CONFIDENCE,
    )

    def parse(self, raw: Mapping[str, object]) -> LadderParams:
        return LadderParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters

    def check(self, params: LadderParams, metric: MetricFacts, counts: RowCounts) -> None:
        """Any metric will do; a set function gets no certificates."""
        check_has_rows(counts)
        check_grid(params.steps, counts.private)

    def initial_holdout(self, params: LadderParams) -> HoldoutState:
        return HoldoutState()

    def initial_team(
        self, params: LadderParams, holdout: HoldoutState
    ) -> tuple[HoldoutState, TeamState]:
        return holdout, TeamState()

    def question(self, params: LadderParams, state: State, reference: Mean | None = None) -> str:
        best = "none" if state.team.best is None else state.team.best
        return f"ladder steps={params.steps} best={best}"

    def step(
        self, params: LadderParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        if state.team.share_left is not None:
            raise StateError("A team on the ladder has no share.")
        check_level(state.team, params.steps)
        mean = measurement.holdout
        width = question_width(state.holdout, mean, 1 - params.confidence)
        improved = _improves(mean, params.steps, state.team.best)
        alphabet = params.alphabet if state.team.best is None else max(state.team.best, 1)
        holdout = count_question(state.holdout, yes=improved, alphabet=alphabet)
        team = show_level(state.team, mean.level(params.steps)) if improved else state.team
        within = 0.5 / params.steps if improved else 1 / params.steps
        answer = Answer(
            kind="improved" if improved else "not_improved",
            level=team.best,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=within if mean.additive else VACUOUS,
            counted=True,
            asked=holdout.asked,
        )
        return State(holdout, team), answer


def _improves(mean: Mean, steps: int, best: int | None) -> bool:
    return best is None or mean.units * steps < mean.whole * (best - 1)
