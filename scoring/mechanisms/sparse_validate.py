"""SparseValidate(m, B): at most m yes-or-no questions about a holdout, B of them answered "yes".

Dwork et al., "Generalization in Adaptive Data Analysis and Holdout Reuse" (2015), section 4.1,
theorem 10, with the counting of theory.md 2. Its books are those of every mechanism (`books.py`);
this file offers it as a mode of its own, a qualification mark.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Answer,
    HoldoutState,
    Kind,
    MetricFacts,
    RowCounts,
    State,
    TeamState,
)
from scoring.mechanisms.books import (
    VACUOUS,
    check_level,
    count_question,
    exhausted_answer,
    grid_level,
    question_width,
    show_level,
    spend,
    take_share,
)
from scoring.mechanisms.fitness import CONFIDENCE, MAXIMUM_STEPS, check_has_rows, check_share
from scoring.noise import Noise
from scoring.parameters import Parameter, parse_all


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
        """The coarsest grid that the mark lies on."""
        return self.mark.denominator

    @property
    def alphabet(self) -> int:
        """A pass says nothing but that it is one."""
        return 1


class SparseValidate:
    """A qualification mark: the holdout says whether a submission's loss is at most the mark.

    "pass" certifies loss <= mark + w for what the same predictions would get had the private labels
    been drawn anew, "fail" loss >= mark - w. A team without a share left, and everybody after
    `questions` questions, is exhausted. What may never change: nothing but the bit depends on the
    measurement, and the width is computed before the answer.

    The theorem takes any Boolean question about the holdout; a subclass asks another one by its own
    `says_yes`.
    """

    name = "sparse_validate"
    title = "Qualification mark"
    description = (
        "Each submission is compared with a fixed mark on the private rows. Teams learn whether "
        "they passed, and nothing else."
    )
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
                "something about the private rows and widens the certificates of later ones."
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
                "How many of these passes each team has for itself; no other team can use them. A "
                "team gets its share with its first scored submission, while whole shares are left."
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

    def initial_holdout(self, params: SparseValidateParams) -> HoldoutState:
        return HoldoutState(budget_left=params.budget)

    def initial_team(
        self, params: SparseValidateParams, holdout: HoldoutState
    ) -> tuple[HoldoutState, TeamState]:
        return take_share(holdout, params.team_share)

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
        width = question_width(state.holdout, mean, 1 - params.confidence)
        if self._exhausted(params, state):
            return exhausted_answer(state, measurement, params.steps, width)
        passed = self.says_yes(params, measurement)
        level = params.mark.numerator if passed else None
        after = State(
            count_question(state.holdout, yes=passed, alphabet=params.alphabet),
            show_level(spend(state.team), params.mark.numerator) if passed else state.team,
        )
        kind: Kind = "pass" if passed else "fail"
        answer = Answer(
            kind=kind,
            level=level,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=0.0 if mean.additive else VACUOUS,
            counted=True,
            asked=after.holdout.asked,
        )
        return after, answer

    def says_yes(self, params: SparseValidateParams, measurement: Measurement) -> bool:
        """The question: is the loss at most the mark?"""
        mean = measurement.holdout
        return Fraction(mean.units, mean.whole) <= params.mark

    def _exhausted(self, params: SparseValidateParams, state: State) -> bool:
        if state.team.share_left is None:
            raise StateError("A team of this mechanism has a share.")
        return state.team.share_left == 0 or state.holdout.asked >= params.questions
