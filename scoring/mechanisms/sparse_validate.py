"""SparseValidate(m, B): at most m yes-or-no questions about a holdout, B of them answered "yes".

Dwork et al., "Generalization in Adaptive Data Analysis and Holdout Reuse" (2015), section 4.1,
theorem 10, with the counting of theory.md 2. Its books are those of every mechanism (`books.py`);
this file offers it as a mode of its own, a qualification mark.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

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
    check_level,
    count_question,
    exhausted_answer,
    grid_level,
    is_exhausted,
    question_width,
    show_level,
    spend,
)
from scoring.mechanisms.fitness import CONFIDENCE, MAXIMUM_STEPS, check_has_rows, check_share
from scoring.mechanisms.kinds import EXHAUSTED, AnswerKind
from scoring.mechanisms.needs import MetricFacts, Need, RowCounts
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all

PLANNED_MARK: Final = Fraction(1, 4)  # a loss that normal teams reach half-way

PASS: Final = AnswerKind(
    code="pass",
    label="Pass",
    word="passed",
    mark="pass",
    sentences=("Passed: the predictions reach the mark on the hidden rows.",),
    says_more=True,
    shows="none",
    bounds="above",
)
FAIL: Final = AnswerKind(
    code="fail",
    label="Fail",
    word="not passed",
    mark="fail",
    sentences=("Not passed: the predictions do not reach the mark on the hidden rows.",),
    says_more=False,
    shows="none",
    bounds="below",
)


@dataclass(frozen=True)
class SparseValidateParams:
    """`mark` is a loss; a submission passes when its holdout loss is at most that."""

    mark: Fraction
    questions: int
    budget: int
    team_share: int
    confidence: Fraction

    @property
    def steps(self) -> int:
        """Return the coarsest grid that the mark lies on."""
        return self.mark.denominator

    @property
    def alphabet(self) -> int:
        """Return 1: a pass says nothing but that it is one."""
        return 1


class SparseValidate(Mechanism[SparseValidateParams]):
    """A qualification mark: the holdout says whether a submission's loss is at most the mark.

    "pass" certifies loss <= mark + w for what the same predictions would get had the private labels
    been drawn anew, "fail" loss >= mark - w. A team that has used its share, and everybody after
    the budget or `questions` questions, is exhausted. What may never change: nothing but the bit
    depends on the measurement, and the width is computed before the answer.

    The theorem takes any Boolean question about the holdout; a subclass asks another one by its own
    `says_yes`.
    """

    name = "sparse_validate"
    title = "Qualification mark"
    description = (
        "Each submission is compared with a fixed mark on the private rows. Teams learn whether "
        "they passed, and nothing else."
    )
    explanation = (
        "Each file is compared with a fixed mark on the private rows. The team learns whether it "
        "passed, and nothing else."
    )
    advice = Advice(
        fits="A round that teams pass or don't pass. Every metric.",
        protects="It tells the least of all: good enough, or not.",
        costs="There is no ranking, and no score to improve on.",
    )
    kinds = (PASS, FAIL, EXHAUSTED)
    unit = Unit("{count} pass", "{count} passes")
    parameters = (
        Parameter(
            name="mark",
            title="Mark",
            help=(
                "The loss on the private rows that is just good enough, from 0 (perfect) to 1. "
                "For accuracy 0.9, give 0.1."
            ),
            kind="fraction",
            default=Fraction(1, 10),
            minimum=Fraction(0),
            maximum=Fraction(1),
        ),
        Parameter(
            name="questions",
            title="Questions in all",
            help=(
                "How many submissions of all teams together are compared with the mark. Later ones "
                "are counted but not compared. Daily limits keep one team from using up the others'"
                " part of it."
            ),
            kind="integer",
            default=10_000,
            minimum=1,
            maximum=10_000_000,
        ),
        Parameter(
            name="budget",
            title="Passes in all",
            help=(
                "How many passes may be announced to all teams together. Every pass tells "
                "something about the private rows and widens the guarantees of later ones."
            ),
            kind="integer",
            default=100,
            minimum=1,
            maximum=1_000_000,
        ),
        Parameter(
            name="team_share",
            title="Passes for each team",
            help=(
                "How many of these passes one team can have. It takes them for itself with its "
                "first pass; no other team can use them then."
            ),
            kind="integer",
            default=1,
            minimum=1,
            maximum=1_000_000,
        ),
        CONFIDENCE,
    )

    def parse(self, raw: Mapping[str, object]) -> SparseValidateParams:
        params = SparseValidateParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters
        check_share(params.budget, params.team_share)
        if params.steps > MAXIMUM_STEPS:
            raise ParameterError("mark", f"Give a mark that is a multiple of 1/{MAXIMUM_STEPS}.")
        return params

    def check(self, params: SparseValidateParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_has_rows(counts)

    def draft(self, need: Need) -> Iterator[dict[str, str]]:
        """Yield one pass for each team.

        The mark is the organizer's to choose and changes no certificate.
        """
        yield {
            "mark": str(PLANNED_MARK),
            "questions": str(min(need.questions, 10_000_000)),
            "budget": str(min(need.teams, 1_000_000)),
            "team_share": "1",
            "confidence": str(need.confidence),
        }

    def initial_holdout(self, params: SparseValidateParams) -> HoldoutState:
        return HoldoutState(budget_left=params.budget)

    def question(
        self, params: SparseValidateParams, state: State, reference: Mean | None = None
    ) -> str:
        text = f"sparse_validate mark={params.mark}"
        return f"{text} exhausted" if self._exhausted(params, state) else text

    def step(
        self,
        params: SparseValidateParams,
        state: State,
        measurement: Measurement,
        noise: Noise,
    ) -> tuple[State, Answer]:
        check_level(state.team, params.steps)
        mean = measurement.holdout
        width = question_width(state.holdout, mean, self.ledger_beta(params))
        if self._exhausted(params, state):
            return exhausted_answer(state, measurement, params.steps, width)
        passed = self.says_yes(params, measurement)
        level = params.mark.numerator if passed else None
        holdout = count_question(state.holdout, yes=passed, alphabet=params.alphabet)
        after = State(holdout, state.team)
        if passed:
            after = spend(after, params.team_share)
            after = State(after.holdout, show_level(after.team, params.mark.numerator))
        answer = Answer(
            kind=(PASS if passed else FAIL).code,
            level=level,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=0.0 if mean.additive else VACUOUS,
            asked=after.holdout.asked,
        )
        return after, answer

    def says_yes(self, params: SparseValidateParams, measurement: Measurement) -> bool:
        """Tell whether the loss is at most the mark."""
        mean = measurement.holdout
        return Fraction(mean.units, mean.whole) <= params.mark

    def account_for(
        self,
        params: SparseValidateParams,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        """Take no loss at all, or the largest for a "fail"."""
        return (whole if kind == FAIL.code else 0), SteadyNoise()

    def _exhausted(self, params: SparseValidateParams, state: State) -> bool:
        return is_exhausted(state) or state.holdout.asked >= params.questions
