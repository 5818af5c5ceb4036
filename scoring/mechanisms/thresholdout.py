"""Thresholdout with a persistent noisy threshold, in integers.

Dwork et al., "Generalization in Adaptive Data Analysis and Holdout Reuse" (2015), section 3.2, and
the other two published forms of it (`forms.py`); theory.md 1.1 and 1.5.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from scoring.errors import ParameterError
from scoring.guarantees.ledger import ln_anytime_share
from scoring.guarantees.noise_tails import (
    discrete_laplace_quantile,
    discrete_laplace_upper_quantile,
)
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import forms
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
from scoring.mechanisms.forms import Form
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
from scoring.noise import ANSWER, COMPARISON, THRESHOLD, Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all, show

NOISE_TO_THRESHOLD: Final = 10
NOISE_PARTS: Final = 3  # thresholds, comparisons, answers: each has a third of the noise's beta
BEYOND_ALL_LOSSES: Final = 10**40

PLANNED_ERRORS: Final = 3  # the threshold, in standard errors of public minus private loss


@dataclass(frozen=True)
class ThresholdoutParams:
    """`threshold` T and `noise_scale` sigma are losses; `steps` is the grid of released values.

    `form` names one of FORMS. `reference` is "public" for the loss on the public rows, or "claim"
    for the loss that the team claims for its submission.
    """

    threshold: Fraction
    noise_scale: Fraction
    budget: int
    team_share: int
    steps: int
    confidence: Fraction
    form: str = forms.NIPS.name
    reference: str = PUBLIC

    @property
    def scales(self) -> Form:
        """Return the three noises, as multiples of the noise scale."""
        return forms.FORMS[self.form]

    @property
    def alphabet(self) -> int:
        """Return the values that a corrected loss can have: the whole grid."""
        return self.steps + 1

    @property
    def beta_half(self) -> Fraction:
        """Return half of 1 - confidence: one half is for the ledger, the other for the noise."""
        return (1 - self.confidence) / 2


class Thresholdout(Mechanism[ThresholdoutParams]):
    """Confirms the reference score unless it is off by more than a noisy threshold.

    With N = rows * resolution, c the holdout loss in units, e the reference loss on the grid,
    DLap(t) discrete Laplace noise of scale t, and r the number of corrections so far:

        G_r = DLap(2 sigma N), the same until the next correction
        corrected iff |c - N e| > N T + G_r + DLap(4 sigma N); then released is c + DLap(sigma N),
        clamped to [0, N], rounded to the grid, and one unit of the team's share is spent;
        otherwise e is confirmed, at no cost.

    These are the scales of the form `nips`; `science` has 4, 8 and 2, `zhao` 1, 2 and 4. The
    reference e is the loss on the public rows, or the loss that the team claims (guess and check):
    the proof only needs it to be fixed before the answer by something else than the private rows.

    What may never change: G_r depends on the holdout and r alone; what is confirmed does not depend
    on the private rows; the reference is rounded before it is compared. Neighbouring holdouts
    differ in one row, so `budget` corrections cost `epsilon` in all, 2 budget / (sigma rows) for
    the form `nips`.
    """

    name = "thresholdout"
    title = "Thresholdout"
    description = (
        "The board shows the score on the public rows, or the score that the team claims, as long "
        "as it agrees with the private rows within a noisy threshold. Where it does not, the board "
        "shows the private score with noise, and the team has one correction less."
    )
    explanation = (
        "Some rows are public: you may know how well you do on them. The rest are private. As long "
        "as a file scores about the same on both, within a noisy threshold, the board confirms the "
        "public score and the private rows have said no more than “yes, about”. Where the two "
        "differ, the file has fitted the public rows too closely: the board shows the private "
        "score with noise instead, and the team has one correction less.\n\n"
        "The corrections of all teams come from one budget. Each team has a share of its own, so "
        "that no team can use up another’s. A team without corrections can still send files; they "
        "are kept and counted."
    )
    advice = Advice(
        fits="Metrics that are means over rows, and some thousands of Private rows. The solution "
        "has Public rows, or teams claim their scores.",
        protects="Honest teams see the score on the Public rows as often as they like. Only a "
        "score that doesn't hold on the Private rows tells something about them, with noise, and "
        "uses up one of the team's corrections.",
        costs="A guarantee is at least as wide as the threshold. A team that overfits the Public "
        "rows uses up its corrections and then learns nothing more.",
    )
    kinds = (CONFIRMED, CORRECTED, EXHAUSTED)
    metric_kinds = frozenset({"mean", "transformed_mean"})
    unit = Unit("{count} correction", "{count} corrections")
    parameters = (
        Parameter(
            name="threshold",
            title="Threshold",
            help=(
                "How far the reference and the private loss may lie apart before the board "
                "corrects a score. A small threshold corrects more often and uses up corrections; "
                "a large one lets more overfitting pass."
            ),
            kind="fraction",
            default=Fraction(1, 25),
            minimum=Fraction(1, 10_000),
            maximum=Fraction(1, 2),
        ),
        Parameter(
            name="noise_scale",
            title="Noise scale",
            help=(
                "How much noise corrected scores carry, as a loss. More noise hides single private "
                "rows better but makes guarantees wider. The threshold's own noise has to stay "
                "below a tenth of the threshold, and every noise above one private row."
            ),
            kind="fraction",
            default=Fraction(1, 1000),
            minimum=Fraction(1, 10_000_000),
            maximum=Fraction(1, 40),
        ),
        Parameter(
            name="budget",
            title="Corrections in all",
            help=(
                "How many scores may be corrected for all teams together. Each correction tells "
                "something about the private rows and widens the guarantees of later scores."
            ),
            kind="integer",
            default=100,
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
                "Fewer steps tell less about the private rows and make guarantees narrower."
            ),
            kind="integer",
            default=100,
            minimum=2,
            maximum=MAXIMUM_STEPS,
        ),
        CONFIDENCE,
        Parameter(
            name="form",
            title="Form",
            help=(
                "Which published form: how loud the noises of threshold, comparison and answer "
                "are, in noise scales. nips: 2, 4 and 1. science: 4, 8 and 2, the same as nips "
                "with twice the noise scale. zhao: 1, 2 and 4, so sharper comparisons and noisier "
                "answers."
            ),
            kind="choice",
            default=forms.NIPS.name,
            choices=tuple(forms.FORMS),
            choice_titles=tuple(form.title for form in forms.FORMS.values()),
        ),
        REFERENCE,
    )

    def parse(self, raw: Mapping[str, object]) -> ThresholdoutParams:
        params = ThresholdoutParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters
        check_share(params.budget, params.team_share)
        # theory.md 5.15: one large threshold draw would otherwise stop corrections for long.
        highest = params.threshold / (NOISE_TO_THRESHOLD * params.scales.threshold)
        if params.noise_scale > highest:
            raise ParameterError(
                "noise_scale",
                f"Give at most {show(highest)}, so that the threshold's own noise stays below a "
                "tenth of the threshold: a single large draw can otherwise keep the board from "
                "correcting anything for long.",
            )
        # The reference is rounded before it is compared: that alone must not cross the threshold.
        coarsest = math.ceil(1 / params.threshold)
        if params.steps < coarsest:
            raise ParameterError(
                "steps",
                f"Give at least {coarsest}: with steps above the threshold, rounding alone would "
                "make the board correct honest scores.",
            )
        return params

    def check(self, params: ThresholdoutParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_metric(self, metric)
        check_has_rows(counts)
        check_grid(params.steps, counts.private, metric)
        if params.reference == PUBLIC:
            check_public_rows(self, counts)
        _check_threshold_above_chance(params, counts)
        if params.scales.smallest * params.noise_scale * counts.private < 1:
            raise ParameterError(
                "noise_scale",
                f"With {counts.private} private rows, noise below 1/{counts.private} is less than "
                "one row and hides none. Give more noise (and a higher threshold, if it asks for "
                "one), or use the Ladder.",
            )

    def reference(self, params: ThresholdoutParams) -> Reference:
        return "claim" if params.reference == CLAIM else "public"

    def draft(self, need: Need) -> Iterator[dict[str, str]]:
        """Yield a threshold that honest scores seldom cross by chance, with the least noise.

        No certificate needs more: noise is for those who want epsilon.
        """
        variance = Fraction(1, need.private) + (Fraction(1, need.public) if need.public else 0)
        errors = PLANNED_ERRORS * math.sqrt(variance / 4)
        noise = Fraction(1, max(40, need.private))
        least = max(2 * NOISE_TO_THRESHOLD * noise, Fraction(1, 10_000))
        threshold = min(max(_round_up(errors), least), Fraction(1, 2))
        yield draft_budget(need) | {"threshold": str(threshold), "noise_scale": str(noise)}

    def ledger_beta(self, params: ThresholdoutParams) -> Fraction:
        return params.beta_half

    def initial_holdout(self, params: ThresholdoutParams) -> HoldoutState:
        return HoldoutState(budget_left=params.budget)

    def question(
        self, params: ThresholdoutParams, state: State, reference: Mean | None = None
    ) -> str:
        text = (
            f"thresholdout threshold={params.threshold} noise_scale={params.noise_scale} "
            f"steps={params.steps}"
        )
        if params.form != forms.NIPS.name:
            text += f" form={params.form}"
        if params.reference == CLAIM:
            text += f" claim={given(reference).level(params.steps)}"
        return f"{text} exhausted" if is_exhausted(state) else text

    def epsilon(self, params: ThresholdoutParams, rows: int) -> Fraction:
        """Return what the whole budget costs in pure differential privacy of single rows."""
        return params.scales.cost * params.budget / (params.noise_scale * rows)

    def step(
        self, params: ThresholdoutParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        check_level(state.team, params.steps)
        mean, reference = given_means(measurement)
        index = state.holdout.firings
        width = question_width(state.holdout, mean, self.ledger_beta(params))
        if is_exhausted(state):
            return exhausted_answer(state, measurement, params.steps, width)
        shown = level = reference.level(params.steps)
        scales, sigma = params.scales, params.noise_scale * mean.whole
        limit = (
            mean.whole * params.threshold
            + noise.laplace(scales.threshold * sigma, THRESHOLD, index)
            + noise.laplace(scales.comparison * sigma, COMPARISON, index)
        )
        fires = abs(mean.units - Fraction(mean.whole * shown, params.steps)) > limit
        if fires:
            noisy = mean.units + noise.laplace(scales.answer * sigma, ANSWER, index)
            level = replace(mean, units=min(max(noisy, 0), mean.whole)).level(params.steps)
        certified = _corrected_tolerance if fires else _confirmed_tolerance
        holdout = count_question(state.holdout, yes=fires, alphabet=params.alphabet)
        answer = Answer(
            kind=(CORRECTED if fires else CONFIRMED).code,
            level=level,
            reference_level=shown,
            steps=params.steps,
            width=width,
            tolerance=certified(params, state.holdout, mean),
            asked=holdout.asked,
        )
        after = State(holdout, state.team)
        after = spend(after, params.team_share) if fires else after
        return State(after.holdout, show_level(after.team, level)), answer

    def account_for(
        self,
        params: ThresholdoutParams,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        """Take the nearest units, and a threshold that fires just where the answer says so."""
        if kind == EXHAUSTED.code:
            return 0, SteadyNoise()
        shift = -BEYOND_ALL_LOSSES if kind == CORRECTED.code else BEYOND_ALL_LOSSES
        return math.floor((loss or 0) * whole + Fraction(1, 2)), SteadyNoise(shift)


def _round_up(loss: float) -> Fraction:
    """Round to two digits, so that people can read it."""
    unit = Fraction(10) ** (math.floor(math.log10(loss)) - 1)
    return math.ceil(Fraction(loss) / unit) * unit


def _confirmed_tolerance(params: ThresholdoutParams, holdout: HoldoutState, mean: Mean) -> float:
    """Return T plus what the two noises can have added to it.

    Simultaneous over all thresholds and all comparisons, so each has its anytime share of beta / 6.
    """
    sigma = float(params.noise_scale * mean.whole)
    threshold = discrete_laplace_upper_quantile(
        params.scales.threshold * sigma, _ln_noise_beta(params, holdout.firings + 1)
    )
    comparison = discrete_laplace_upper_quantile(
        params.scales.comparison * sigma, _ln_noise_beta(params, holdout.asked + 1)
    )
    return float(params.threshold) + (threshold + comparison) / mean.whole


def _corrected_tolerance(params: ThresholdoutParams, holdout: HoldoutState, mean: Mean) -> float:
    """Return what the answer's noise can have added, and half a step of the grid."""
    sigma = float(params.noise_scale * mean.whole)
    added = discrete_laplace_quantile(
        params.scales.answer * sigma, _ln_noise_beta(params, holdout.firings + 1)
    )
    return added / mean.whole + 0.5 / params.steps


def _ln_noise_beta(params: ThresholdoutParams, index: int) -> float:
    return math.log(params.beta_half / NOISE_PARTS) + ln_anytime_share(index)


def _check_threshold_above_chance(params: ThresholdoutParams, counts: RowCounts) -> None:
    """Refuse thresholds below one standard error of the difference for losses of variance 1/4.

    A claim may be exact.
    """
    variance = Fraction(1, counts.private) / 4
    rows = f"{counts.private} private rows"
    if params.reference == PUBLIC:
        variance += Fraction(1, counts.public) / 4
        rows = f"{counts.public} public and {rows}"
    if params.threshold**2 < variance:
        by_chance = math.ceil(1000 * math.sqrt(variance)) / 1000
        raise ParameterError(
            "threshold",
            f"With {rows} the two losses can lie {by_chance:g} apart by chance alone, so honest "
            f"submissions would use up the corrections. Give at least {by_chance:g}, or use more "
            "rows.",
        )
