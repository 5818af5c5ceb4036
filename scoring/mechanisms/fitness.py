"""Parameters and refusals that mechanisms share."""

import math
from fractions import Fraction
from typing import Final

from scoring.errors import ParameterError
from scoring.laws.exact import floor_less_root
from scoring.mechanisms.needs import MetricFacts, RowCounts
from scoring.parameters import Parameter

MAXIMUM_STEPS: Final = 10_000
CLOSER: Final = 8
LOWEST_RUNG: Final = 2

CONFIDENCE = Parameter(
    name="confidence",
    title="Confidence",
    help=(
        "How sure the guarantee beside each score is, for all submissions of all teams together: "
        "0.95 means that at most one such competition in twenty ever shows a wrong one. More "
        "confidence makes the guarantees a little wider and changes nothing else."
    ),
    kind="fraction",
    default=Fraction(95, 100),
    minimum=Fraction(1, 2),
    maximum=Fraction(999_999, 1_000_000),
)
RUNG = Parameter(
    name="rung",
    title="Public rung",
    help=(
        "The level that every team starts from, in steps of loss: with 50 steps, 20 is a loss of "
        "0.4. A first score is shown only if it is better than that by more than a step, so that "
        "new accounts learn nothing by guessing. Give what the best baseline reaches, at least "
        "three standard errors better than guessing. 0 is no rung: each team's first score is "
        "shown, whatever it is."
    ),
    kind="integer",
    default=0,
    minimum=0,
    maximum=MAXIMUM_STEPS,
)
RUNG_ERRORS: Final = 3  # how far a rung is from what guessing reaches, in standard errors


def highest_rung(
    steps: int,
    guessing: Fraction,
    private_rows: int,
    public_rows: int,
    variance: Fraction | None = None,
) -> int:
    """Return the highest level that a public rung may have: floor(steps (b - 3 se)); 0 is none.

    guessing: the loss b on Public rows of the best constant prediction, or of a baseline, which the
    Private rows show with a standard error of se^2 = max(b (1 - b), 1/n) (1/a + 1/n).
    variance: that of its rows' losses, where they are not 0 or 1: it takes the place of b (1 - b).
    A rung that is higher lets new accounts pass it by chance (theory.md 10.4).
    """
    variance = guessing * (1 - guessing) if variance is None else variance
    square = max(variance, Fraction(1, private_rows)) * (
        Fraction(1, public_rows) + Fraction(1, private_rows)
    )
    rung = floor_less_root(steps * guessing, (steps * RUNG_ERRORS) ** 2 * square)
    return rung if rung >= LOWEST_RUNG else 0


def check_rung(rung: int, steps: int) -> None:
    """Refuse a rung that nobody can pass, or that lies beyond the grid."""
    if rung and not LOWEST_RUNG <= rung <= steps:
        raise ParameterError(
            "rung",
            f"Give 0 for no rung, or from {LOWEST_RUNG} to the {steps} steps: from a lower one "
            "nobody can improve by more than a step.",
        )


def check_has_rows(counts: RowCounts) -> None:
    """Refuse a solution without private rows."""
    if counts.private < 1:
        raise ParameterError("solution", "The solution has no private rows to score on.")


def finest_grid(rows: int, metric: MetricFacts) -> int:
    """Return the most steps that say more than chance: half the sampling error of `rows` losses.

    Of losses that are 0 or 1 it is up to 1/(2 sqrt n). Others can lie closer together: where a log
    loss spans 4.6, or an error counts up to the largest there is, by `CLOSER` times.
    """
    closer = CLOSER if metric.units > 1 and metric.kind in ("mean", "transformed_mean") else 1
    return min(MAXIMUM_STEPS, closer * math.isqrt(16 * rows))


def check_grid(steps: int, rows: int, metric: MetricFacts) -> None:
    """Refuse steps finer than `finest_grid`: such digits are mostly chance."""
    finest = finest_grid(rows, metric)
    if steps > finest:
        raise ParameterError(
            "steps",
            f"With {rows} private rows, steps finer than 1/{finest} would show little but chance, "
            f"and would widen every guarantee. Give at most {finest}.",
        )


def check_share(budget: int, share: int) -> None:
    """Refuse a share that is larger than the whole budget."""
    if share > budget:
        raise ParameterError(
            "team_share", f"One team's share cannot be larger than the whole budget of {budget}."
        )
