"""Guard: the reference score stands as long as the private rows agree; Thresholdout without noise.

No certificate rests on noise: what was said is charged by its code length (theory.md 10.1, 10.3).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from scoring.errors import ParameterError
from scoring.laws.exact import MILLION, floor_less_root
from scoring.laws.laws import Agreement, Corrections, Law, Never
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import (
    Advice,
    Answer,
    HoldoutState,
    Mechanism,
    Reference,
    State,
    Unit,
)
from scoring.mechanisms.books import (
    VACUOUS,
    check_level,
    count_question,
    exhausted_answer,
    is_exhausted,
    question_width,
    show_level,
    spend,
)
from scoring.mechanisms.fitness import (
    CONFIDENCE,
    MAXIMUM_STEPS,
    check_grid,
    check_has_rows,
    check_share,
)
from scoring.mechanisms.kinds import EXHAUSTED
from scoring.mechanisms.needs import MetricFacts, Need, RowCounts
from scoring.mechanisms.reference import (
    CLAIM,
    CONFIRMED,
    CORRECTED,
    PUBLIC,
    REFERENCE,
    check_metric,
    check_public_rows,
    draft_budget,
    given,
    given_means,
)
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all


@dataclass(frozen=True)
class GuardParams:
    """`errors` is c, in standard errors; `threshold` is the loss T where teams claim their scores.

    `reference` is "public" for the loss on the Public rows, or "claim" for the loss that the team
    claims. `steps` is the grid of released values.
    """

    errors: Fraction
    threshold: Fraction
    budget: int
    team_share: int
    steps: int
    confidence: Fraction
    reference: str = PUBLIC

    @property
    def alphabet(self) -> int:
        """Return the most values that a corrected loss can have: the whole grid."""
        return self.steps + 1

    def band(self, reference: Mean, private_rows: int) -> int:
        """Return T in millionths for a reference as it is shown, at least a step of the grid."""
        if self.reference == CLAIM:
            return math.ceil(self.threshold * MILLION)
        loss = Fraction(reference.level(self.steps), self.steps)
        step = -(-MILLION // self.steps)
        return max(step, guard_threshold(loss, reference.rows, private_rows, self.errors))


class Guard(Mechanism[GuardParams]):
    """Confirms the reference score unless the private rows differ from it by more than T.

    With N = rows * resolution, c the holdout loss in units, and e the reference loss on the grid:

        corrected iff |c / N - e| > T(e); then released is c on the grid, and one correction of the
        team's share is spent; otherwise e is confirmed, at no cost.

    T(e) follows from e and the rows alone (`guard_threshold`); a claim has no rows, so its T is
    constant. Where the board confirms, the truth of this file is within T of e and w. What may
    never change: what is confirmed does not depend on the private rows, all is compared in
    integers, T is at least a step of the grid, so that no level lies both within and beyond it.
    """

    name = "guard"
    title = "Guard"
    description = (
        "The board shows the score on the public rows, or the score that the team claims, as long "
        "as the private rows agree within a stated distance. Where they do not, the board shows "
        "the private score, rounded, and the team has one correction less."
    )
    explanation = (
        "Some rows are public: you may know how well you do on them. The rest are private. As long "
        "as a file scores about the same on both, the board shows the public score, and the "
        "private rows have said no more than “yes, about”. How far the two may differ follows from "
        "the score and the numbers of rows, and is several times what chance does. Where they "
        "differ by more, the file has fitted the public rows too closely: the board shows the "
        "private score, rounded, and the team has one correction less.\n\n"
        "There is no noise: what answers tell is counted, and the guarantee follows from the "
        "count. The corrections of all teams come from one budget. A team takes its share with its "
        "first correction; one without corrections can still send files, which are kept and "
        "counted."
    )
    advice = Advice(
        fits="Metrics that are means over rows, with some hundreds of Private rows. The solution "
        "has Public rows, or teams claim their scores.",
        protects="Honest teams see their score on the Public rows as often as they like, and next "
        "to nothing is told of the Private rows, so that guarantees stay narrow.",
        costs="A guarantee is at least as wide as the distance that Public and Private rows may "
        "differ by. Single rows are not hidden by noise: take Thresholdout for that.",
    )
    kinds = (CONFIRMED, CORRECTED, EXHAUSTED)
    metric_kinds = frozenset({"mean", "transformed_mean"})
    unit = Unit("{count} correction", "{count} corrections")
    counted = False
    duels = True
    parameters = (
        Parameter(
            name="errors",
            title="Standard errors",
            help=(
                "How far public and private score may lie apart before the board corrects, in "
                "standard errors of their difference. 4 corrects next to no honest score; 3 gives "
                "narrower guarantees and corrects one now and then. Not used where teams claim "
                "their scores."
            ),
            kind="fraction",
            default=Fraction(4),
            minimum=Fraction(2),
            maximum=Fraction(10),
        ),
        Parameter(
            name="threshold",
            title="Threshold for claims",
            help=(
                "How far the claimed and the private loss may lie apart before the board corrects "
                "the score. Used only where teams claim their scores."
            ),
            kind="fraction",
            default=Fraction(1, 25),
            minimum=Fraction(1, 10_000),
            maximum=Fraction(1, 2),
        ),
        Parameter(
            name="budget",
            title="Corrections in all",
            help=(
                "How many scores may be corrected for all teams together. Each correction tells "
                "something about the private rows and widens the guarantees of later scores."
            ),
            kind="integer",
            default=200,
            minimum=1,
            maximum=1_000_000,
        ),
        Parameter(
            name="team_share",
            title="Corrections for each team",
            help=(
                "How many of these corrections one team can have. It takes them for itself with "
                "its first correction; no other team can use them then. A team without corrections "
                "can still submit but learns nothing new."
            ),
            kind="integer",
            default=5,
            minimum=1,
            maximum=1_000_000,
        ),
        Parameter(
            name="steps",
            title="Steps",
            help=(
                "How many steps the shown losses have between 0 and 1: 100 shows two decimals. "
                "Scores are corrected only where they are off by a step at least."
            ),
            kind="integer",
            default=100,
            minimum=2,
            maximum=MAXIMUM_STEPS,
        ),
        CONFIDENCE,
        REFERENCE,
    )

    def parse(self, raw: Mapping[str, object]) -> GuardParams:
        params = GuardParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters
        check_share(params.budget, params.team_share)
        coarsest = math.ceil(1 / params.threshold)
        if params.reference == CLAIM and params.steps < coarsest:
            raise ParameterError(
                "steps",
                f"Give at least {coarsest}: with steps above the threshold, rounding alone would "
                "make the board correct honest claims.",
            )
        return params

    def check(self, params: GuardParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_metric(self, metric)
        check_has_rows(counts)
        check_grid(params.steps, counts.private, metric)
        if params.reference == PUBLIC:
            check_public_rows(self, counts)

    def check_apart(self, params: GuardParams, teams: int) -> None:
        if (needed := teams * params.team_share) > params.budget:
            raise ParameterError(
                "budget",
                f"On a board that is hidden until the end no team may run out because others were "
                f"corrected: give at least {needed}, the shares of all {teams} teams.",
            )

    def reference(self, params: GuardParams) -> Reference:
        return "claim" if params.reference == CLAIM else "public"

    def draft(self, need: Need) -> Iterator[dict[str, str]]:
        """Yield thresholds that honest scores cross next to never: a correction costs everybody.

        Of honest teams fewer than one in two seasons cross the lowest, whose files are like three.
        """
        least = -NormalDist().inv_cdf(min(0.5, 1 / (12 * need.teams)))
        deviation = math.sqrt(need.good * (1 - need.good) / need.private)
        for errors in (Fraction(3), Fraction(7, 2), Fraction(4)):
            if errors < min(least, 4):
                continue
            if need.public:
                yield draft_budget(need) | {"errors": str(errors)}
            else:
                # A claim's own error is not known: half as much as the Private rows' beside it.
                threshold = Fraction(math.ceil(1000 * float(errors) / 2 * deviation), 1000)
                yield draft_budget(need) | {"threshold": str(min(threshold, Fraction(1, 2)))}

    def initial_holdout(self, params: GuardParams) -> HoldoutState:
        return HoldoutState(budget_left=params.budget)

    def question(self, params: GuardParams, state: State, reference: Mean | None = None) -> str:
        rule = f"threshold={params.threshold}"
        if params.reference == PUBLIC:
            rule = f"errors={params.errors}"
        text = f"guard {rule} steps={params.steps}"
        if params.reference == CLAIM:
            text += f" claim={given(reference).level(params.steps)}"
        return f"{text} exhausted" if is_exhausted(state) else text

    def step(
        self, params: GuardParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        check_level(state.team, params.steps)
        mean, reference = given_means(measurement)
        width = question_width(state.holdout, mean, self.ledger_beta(params))
        if is_exhausted(state):
            return exhausted_answer(state, measurement, params.steps, width)
        shown = reference.level(params.steps)
        band = params.band(reference, mean.rows)
        off = abs(mean.units * params.steps - mean.whole * shown)
        fires = off * MILLION > band * mean.whole * params.steps
        level = mean.level(params.steps) if fires else shown
        asked = self.law_question(params, state, mean.rows, reference)
        holdout = count_question(
            state.holdout, yes=fires, alphabet=asked.alphabet if asked and fires else 1
        )
        after = State(holdout, state.team)
        after = spend(after, params.team_share) if fires else after
        answer = Answer(
            kind=(CORRECTED if fires else CONFIRMED).code,
            level=level,
            reference_level=shown,
            steps=params.steps,
            width=width,
            tolerance=0.5 / params.steps if fires else min(VACUOUS, band / MILLION),
            asked=holdout.asked,
        )
        return State(after.holdout, show_level(after.team, level)), answer

    def laws(
        self, params: GuardParams, private_rows: int, public_rows: int
    ) -> tuple[Law[Any], ...]:
        """Return the law that nothing is corrected, and the one that learns how often."""
        return Never(), Corrections()

    def law_question(
        self, params: GuardParams, state: State, private_rows: int, reference: Mean | None
    ) -> Agreement | None:
        if is_exhausted(state):
            return None
        reference = given(reference)
        shown = Fraction(reference.level(params.steps), params.steps)
        band = Fraction(params.band(reference, private_rows), MILLION)
        low = high = None
        if shown > band:
            low = math.ceil((shown - band) * params.steps + Fraction(1, 2)) - 1
        if shown + band < 1:
            high = math.floor((shown + band) * params.steps + Fraction(1, 2))
        return None if low is high is None else Agreement(params.steps, low, high)

    def account_for(
        self,
        params: GuardParams,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        """Take the nearest units; of a corrected loss those shown so that are furthest off."""
        if kind == EXHAUSTED.code or loss is None:
            return 0, SteadyNoise()
        half = Fraction(1, 2)
        if kind == CONFIRMED.code or reference is None or loss == reference:
            return math.floor(loss * whole + half), SteadyNoise()
        if loss < reference:
            return max(0, math.ceil((loss - half / params.steps) * whole)), SteadyNoise()
        return min(whole, math.ceil((loss + half / params.steps) * whole) - 1), SteadyNoise()


@lru_cache(maxsize=4096)
def guard_threshold(loss: Fraction, public_rows: int, private_rows: int, errors: Fraction) -> int:
    """Return T(e) = c^2 / (2 N) + c sqrt(e (1 - e) / N + c^2 / (4 N^2)) in millionths, rounded up.

    1/N = 1/a + 1/n for a public and n private rows. It is where a difference of two means becomes
    c standard errors of what the further one may have (Wilson's interval), so not 0 at a loss of 0.
    """
    spread = Fraction(1, public_rows) + Fraction(1, private_rows)
    square = errors**2 * (loss * (1 - loss) * spread + (errors * spread / 2) ** 2)
    return -floor_less_root(-(errors**2) * spread / 2 * MILLION, square * MILLION**2)
