"""A mechanism of one's own, in one file outside the package, as anybody would write one."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Advice, Answer, AnswerKind, Mechanism, State
from scoring.mechanisms.books import VACUOUS, count_question, grid_level
from scoring.mechanisms.fitness import check_has_rows
from scoring.mechanisms.needs import MetricFacts, RowCounts
from scoring.noise import ANSWER, Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all

HEADS = AnswerKind(
    code="heads",
    label="Heads",
    word="heads",
    mark="pass",
    sentences=("Heads.", "{left} left.", "On the public rows: {public}."),
    says_more=False,
    shows="none",
    bounds="nothing",
)


@dataclass(frozen=True)
class TossParams:
    """A grid that nothing is shown on."""

    steps: int
    alphabet: int = 1


class Toss(Mechanism[TossParams]):
    """Says heads, whatever is submitted."""

    name = "toss"
    title = "Toss"
    description = "The board says heads."
    explanation = "Nobody looks at the files."
    advice = Advice(fits="Nothing.", protects="Everything.", costs="All use of it.")
    kinds = (HEADS,)
    parameters = (
        Parameter("steps", "Steps", "Steps of the grid.", "integer", default=10, minimum=1),
    )

    def parse(self, raw: Mapping[str, object]) -> TossParams:
        return TossParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters

    def check(self, params: TossParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_has_rows(counts)

    def question(self, params: TossParams, state: State, reference: Mean | None = None) -> str:
        return "toss"

    def step(
        self, params: TossParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        noise.laplace(Fraction(1), ANSWER, 0)  # and nobody looks at it either
        holdout = count_question(state.holdout, yes=False)
        answer = Answer(
            kind=HEADS.code,
            level=None,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=VACUOUS,
            tolerance=VACUOUS,
            asked=holdout.asked,
        )
        return State(holdout, state.team), answer

    def account_for(
        self, params: TossParams, kind: str, loss: Fraction | None, whole: int
    ) -> tuple[int, SteadyNoise]:
        return 0, SteadyNoise()
