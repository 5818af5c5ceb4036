"""What Guard and Thresholdout share: a reference score, which private rows confirm or correct."""

import math
from fractions import Fraction
from typing import Any, Final

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Mechanism
from scoring.mechanisms.kinds import AnswerKind
from scoring.mechanisms.needs import MetricFacts, Need, RowCounts
from scoring.parameters import Parameter

MINIMUM_PUBLIC_ROWS: Final = 10
PUBLIC: Final = "public"
CLAIM: Final = "claim"
SUBMISSIONS_A_CORRECTION: Final = 20

CONFIRMED: Final = AnswerKind(
    code="confirmed",
    label="Confirmed",
    word="confirmed",
    mark="confirmed",
    sentences=(
        "Confirmed: {public}. Public and hidden rows agree.",
        "Confirmed: {claimed}. Your claim and the hidden rows agree.",
    ),
    says_more=False,
    shows="own",
    bounds="both",
)
CORRECTED: Final = AnswerKind(
    code="corrected",
    label="Corrected",
    word="corrected",
    mark="corrected",
    sentences=(
        "Your public score of {public} did not hold.",
        "Your claimed score of {claimed} did not hold.",
        "On the hidden rows it is about {score}.",
        "{left} left for your team.",
    ),
    says_more=True,
    shows="own",
    bounds="both",
)

REFERENCE: Final = Parameter(
    name="reference",
    title="Reference",
    help=(
        "What the board confirms or corrects. public: the score on the public rows. claim: "
        "the score that the team claims for its submission, for example from its own "
        "validation; no public rows are needed then, and every submission has to make a "
        "claim."
    ),
    kind="choice",
    default=PUBLIC,
    choices=(PUBLIC, CLAIM),
    choice_titles=("The score on the public rows", "The score that the team claims"),
)


def draft_budget(need: Need) -> dict[str, str]:
    """Return what drafts share: a correction for twenty files of a team, for all of them at once.

    Steps are the finest that rows allow: confirmed scores tell nothing, however fine they are.
    """
    share = math.ceil(Fraction(need.submissions, SUBMISSIONS_A_CORRECTION))
    return {
        "budget": str(max(share, min(share * need.teams, 1_000_000))),
        "team_share": str(share),
        "steps": str(need.grids()[-1]),
        "confidence": str(need.confidence),
        "reference": PUBLIC if need.public else CLAIM,
    }


def check_metric(mechanism: Mechanism[Any], metric: MetricFacts) -> None:
    """Refuse a metric that is no mean over rows."""
    if mechanism.metric_kinds is not None and metric.kind not in mechanism.metric_kinds:
        raise ParameterError(
            "mechanism",
            f"{mechanism.title} takes only metrics that are means over rows, and {metric.name} is "
            "a function of the whole set: how far its public and private values may lie apart by "
            "chance, or how much one row can change it, has no useful bound. Use the Ladder.",
        )


def check_public_rows(mechanism: Mechanism[Any], counts: RowCounts) -> None:
    """Refuse a solution with too few Public rows to show scores on."""
    if counts.public < MINIMUM_PUBLIC_ROWS:
        raise ParameterError(
            "solution",
            f"{mechanism.title} shows the score on the public rows, and the solution has "
            f"{counts.public} of them. Mark at least {MINIMUM_PUBLIC_ROWS} rows as Public, let "
            "teams claim their scores, or use the Ladder.",
        )


def given(reference: Mean | None) -> Mean:
    """Return the reference. Raises StateError where it is missing."""
    if reference is None:
        raise StateError("A reference is needed: public rows, or a claimed loss.")
    return reference


def given_means(measurement: Measurement) -> tuple[Mean, Mean]:
    """Return the means on the holdout and of the reference. Raises StateError for others."""
    mean, reference = measurement.holdout, given(measurement.reference)
    if not (mean.additive and reference.additive):
        raise StateError("This mechanism takes means only.")
    return mean, reference
