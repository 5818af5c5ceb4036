"""The Ladder with a fixed step.

Blum and Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions" (2015),
algorithm 1; theory.md 3.1 and 3.3. It is SparseValidate with the question "is the loss below this
team's best by more than one step?": a yes releases the loss rounded to the grid, a no repeats the
best so far. Every yes lowers the best by at least a step, so a team can climb at most `steps` + 1
times and needs no budget.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from scoring.errors import StateError
from scoring.laws.laws import Improvement, Law, Learned, Public
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Advice,
    Answer,
    Mechanism,
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
from scoring.mechanisms.fitness import (
    CONFIDENCE,
    LOWEST_RUNG,
    MAXIMUM_STEPS,
    RUNG,
    check_grid,
    check_has_rows,
    check_rung,
    highest_rung,
)
from scoring.mechanisms.kinds import AnswerKind
from scoring.mechanisms.needs import MetricFacts, Need, RowCounts
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all

IMPROVED: Final = AnswerKind(
    code="improved",
    label="Improved",
    word="new best",
    mark="improved",
    sentences=("New best: {score}.",),
    says_more=True,
    shows="own",
    bounds="both",
)
NOT_IMPROVED: Final = AnswerKind(
    code="not_improved",
    label="Not improved",
    word="no improvement",
    mark="not_improved",
    sentences=(
        "Not better than {score} by more than {step}.",
        "Your place is unchanged.",
    ),
    says_more=False,
    shows="earlier",
    bounds="below",
)


@dataclass(frozen=True)
class LadderParams:
    """The step eta is 1 / steps; `confidence` is 1 - beta.

    `rung` is the level from which every team starts, 0 if its first answer is on the whole grid.
    """

    steps: int
    confidence: Fraction
    rung: int = 0

    @property
    def alphabet(self) -> int:
        """Return the most values that an answer can have: what a team's first one can show."""
        return self.rung or self.steps + 1

    def best(self, team: TeamState) -> int | None:
        """Return the level that a team has to beat; None where anything is shown."""
        return (self.rung or None) if team.best is None else team.best


class Ladder(Mechanism[LadderParams]):
    """Shows a team's loss only when it beats the team's best by more than a step.

    With N = rows * resolution and a best level j, a loss of c units improves iff
    c * steps < N * (j - 1), and is then shown as floor((2 c steps + N) / (2 N)), one of the j
    levels below j. A team without a level starts at the public rung; where there is none, its first
    submission is always shown, as one of steps + 1 levels. These are the alphabets of the ledger.
    Exact integers: a tie with the step is not an improvement.

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
    explanation = (
        "The board moves only when a file beats its team’s best by more than one step, and shows "
        "scores rounded to that step. Otherwise the team learns that it did not improve, and "
        "nothing else. Since most files don’t improve by so much, most questions give almost "
        "nothing away."
    )
    advice = Advice(
        fits="Every metric and every size of holdout. No Public rows are needed.",
        protects="An answer says at most which step was reached, and most say only “no”: "
        "guarantees widen slowly. It can't be drained: a team that sends noise only stays where "
        "it is.",
        costs="Improvements smaller than a step stay unseen.",
    )
    kinds = (IMPROVED, NOT_IMPROVED)
    takes_custom_metrics = True
    parameters = (
        Parameter(
            name="steps",
            title="Steps",
            help=(
                "How many steps the board has between a loss of 0 and a loss of 1: 50 means that "
                "scores move in steps of 0.02. Fewer steps protect better: guarantees get "
                "narrower, but small improvements stay unseen."
            ),
            kind="integer",
            default=50,
            minimum=2,
            maximum=MAXIMUM_STEPS,
        ),
        CONFIDENCE,
        RUNG,
    )

    def parse(self, raw: Mapping[str, object]) -> LadderParams:
        params = LadderParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters
        check_rung(params.rung, params.steps)
        return params

    def check(self, params: LadderParams, metric: MetricFacts, counts: RowCounts) -> None:
        """Take any metric; a set function gets no certificates."""
        check_has_rows(counts)
        check_grid(params.steps, counts.private, metric)

    def draft(self, need: Need) -> Iterator[dict[str, str]]:
        """Yield the coarsest and the finest round steps, from a rung that guessing can't reach."""
        grids = need.grids()
        for steps in sorted({grids[0], grids[-1]}):
            rows = need.private, need.public or need.private
            rung = highest_rung(steps, need.guessing, *rows)
            yield {"steps": str(steps), "confidence": str(need.confidence), "rung": str(rung)}

    def question(self, params: LadderParams, state: State, reference: Mean | None = None) -> str:
        best = params.best(state.team)
        return f"ladder steps={params.steps} best={'none' if best is None else best}"

    def step(
        self, params: LadderParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        if state.team.share_left is not None:
            raise StateError("A team on the ladder has no share.")
        check_level(state.team, params.steps)
        mean = measurement.holdout
        width = question_width(state.holdout, mean, self.ledger_beta(params))
        best = params.best(state.team)
        improved = best is None or mean.units * params.steps < mean.whole * (best - 1)
        alphabet = params.alphabet if best is None else max(best, 1)
        holdout = count_question(state.holdout, yes=improved, alphabet=alphabet)
        team = show_level(state.team, mean.level(params.steps)) if improved else state.team
        within = 0.5 / params.steps if improved else 1 / params.steps
        answer = Answer(
            kind=(IMPROVED if improved else NOT_IMPROVED).code,
            level=params.best(team),
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=within if mean.additive else VACUOUS,
            asked=holdout.asked,
        )
        return State(holdout, team), answer

    def laws(
        self, params: LadderParams, private_rows: int, public_rows: int
    ) -> tuple[Law[Any], ...]:
        """Return the law that needs no Public rows, and the one by them where there are any."""
        return (Learned(), Public(public_rows, private_rows)) if public_rows else (Learned(),)

    def law_question(
        self, params: LadderParams, state: State, private_rows: int, reference: Mean | None
    ) -> Improvement | None:
        best = params.best(state.team)
        if best is not None and best < LOWEST_RUNG:
            return None
        public = None if reference is None else Fraction(reference.units, reference.whole)
        return Improvement(params.steps, best, public)

    def account_for(
        self,
        params: LadderParams,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        """Take the fewest units that are shown at this loss, or so many that none improves."""
        if kind != IMPROVED.code:
            return whole, SteadyNoise()
        least = (loss or 0) - Fraction(1, 2 * params.steps)
        return max(0, math.ceil(whole * least)), SteadyNoise()
