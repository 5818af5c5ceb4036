"""Parameters and refusals that mechanisms share."""

import math
from fractions import Fraction
from typing import Final

from scoring.errors import ParameterError
from scoring.mechanisms.needs import RowCounts
from scoring.parameters import Parameter

MAXIMUM_STEPS: Final = 10_000

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


def check_has_rows(counts: RowCounts) -> None:
    """Refuse a solution without private rows."""
    if counts.private < 1:
        raise ParameterError("solution", "The solution has no private rows to score on.")


def check_grid(steps: int, rows: int) -> None:
    """Refuse steps smaller than half the sampling error of a mean of `rows` losses, 1/(2 sqrt n).

    Finer digits are mostly chance, and each of them widens every certificate.
    """
    finest = math.isqrt(16 * rows)
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
