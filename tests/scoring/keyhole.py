"""A mechanism of one's own, in one file outside the package, as anybody would write one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.errors import ParameterError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Advice,
    Answer,
    HoldoutState,
    Mechanism,
    State,
    Unit,
)
from scoring.mechanisms.books import (
    VACUOUS,
    count_question,
    grid_level,
    is_exhausted,
    question_width,
    show_level,
    spend,
)
from scoring.mechanisms.fitness import check_has_rows
from scoring.mechanisms.kinds import AnswerKind
from scoring.mechanisms.needs import MetricFacts, RowCounts
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all

BETA = Fraction(1, 20)
SEEN = AnswerKind(
    code="seen",
    label="Seen through the keyhole",
    word="seen",
    mark="improved",
    sentences=("Through the keyhole: {score}.", "{left} left.", "You claimed {claimed}."),
    says_more=True,
    shows="own",
    bounds="both",
)
SHUT = AnswerKind(
    code="shut",
    label="The door is shut",
    word="shut out",
    mark="fail",
    sentences=("The door is shut.", "Outside it looks like {public}."),
    says_more=False,
    shows="earlier",
    bounds="nothing",
)


@dataclass(frozen=True)
class PeekParams:
    """How often each team may look, and at how fine a grid."""

    peeks: int
    steps: int
    manner: str

    @property
    def confidence(self) -> Fraction:
        """What its guarantees leave."""
        return 1 - BETA

    @property
    def alphabet(self) -> int:
        """All levels of the grid."""
        return self.steps + 1


class Peek(Mechanism[PeekParams]):
    """Shows each team its rounded losses a few times, and nothing more after that."""

    name = "peek"
    title = "Keyhole"
    description = "Each team may look through the keyhole a few times."
    explanation = "The door has a keyhole.\n\nBehind it are the rows."
    advice = Advice(fits="Doors.", protects="Most of the room.", costs="A stiff neck.")
    kinds = (SEEN, SHUT)
    metric_kinds = frozenset({"mean"})
    unit = Unit("{count} peek", "{count} peeks")
    parameters = (
        Parameter("peeks", "Peeks", "How often a team may look.", "integer", 2, minimum=1),
        Parameter("steps", "Steps", "Steps of the grid.", "integer", 10, minimum=1),
        Parameter(
            "manner",
            "Manner",
            "How it is done.",
            "choice",
            "crouching",
            choices=("crouching", "kneeling"),
            choice_titles=("On both feet", "On both knees"),
        ),
    )

    def parse(self, raw: Mapping[str, object]) -> PeekParams:
        return PeekParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters

    def check(self, params: PeekParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_has_rows(counts)
        if metric.kind not in (self.metric_kinds or {metric.kind}):
            raise ParameterError("mechanism", f"A keyhole shows means only, not {metric.name}.")

    def initial_holdout(self, params: PeekParams) -> HoldoutState:
        return HoldoutState(budget_left=100 * params.peeks)

    def question(self, params: PeekParams, state: State, reference: Mean | None = None) -> str:
        return f"peek {'no' if is_exhausted(state) else 'yes'}"

    def step(
        self, params: PeekParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        mean = measurement.holdout
        width = question_width(state.holdout, mean, BETA)
        sees = not is_exhausted(state)
        holdout = count_question(state.holdout, yes=sees, alphabet=params.alphabet)
        after = State(holdout, state.team)
        if sees:
            after = spend(after, params.peeks)
            after = State(after.holdout, show_level(after.team, mean.level(params.steps)))
        answer = Answer(
            kind=(SEEN if sees else SHUT).code,
            level=after.team.last,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=0.5 / params.steps if sees else VACUOUS,
            asked=holdout.asked,
        )
        return after, answer

    def account_for(
        self,
        params: PeekParams,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        return math.floor((loss or 0) * whole + Fraction(1, 2)), SteadyNoise()
