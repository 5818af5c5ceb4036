"""Widths of a whole board, fixed before it opens: what it can do at worst.

Each is a union bound over every (history, submission) pair that the board can produce; theory.md
3.2 and 4.5. A ledger certifies what a board did.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)
from scoring.guarantees.counting import ln_binomial


def union_width(rows: int, ln_count: float, beta: float) -> float:
    """Return sqrt((ln 2 + ln|F| + ln(1/beta)) / (2 n)) for functions F fixed before the data."""
    require_positive(rows=rows)
    require_not_negative(ln_count=ln_count)
    require_probability(beta=beta)
    return math.sqrt((math.log(2) + ln_count - math.log(beta)) / (2 * rows))


def exact_board_width(rows: int, questions: int, alphabet: int, beta: float) -> float:
    """Return w of a board that shows every score with G values: ln|F| = ln((G^m - 1)/(G - 1))."""
    require_positive(rows=rows, questions=questions)
    require(alphabet >= 2, "A board shows at least two values.")
    ln_g = math.log(alphabet)
    ln_power = questions * ln_g + math.log1p(-math.exp(-questions * ln_g))
    return union_width(rows, ln_power - math.log(alphabet - 1), beta)


def ladder_values(eta: float) -> int:
    """Return V = floor(1/eta + 1/2) + 1, the number of values that a Ladder can show."""
    require(0 < eta <= 1, "A step lies between 0 and 1.")
    return math.floor(1 / eta + 0.5) + 1


def ladder_ln_count(submissions: int, eta: float) -> float:
    """Return ln C(V + k - 1, k - 1): all (history, submission) pairs of k files of one team."""
    require_positive(submissions=submissions)
    return ln_binomial(ladder_values(eta) + submissions - 1, submissions - 1)


def ladder_width(rows: int, submissions: int, eta: float, beta: float) -> float:
    """Return how far a Ladder can be from the best true loss of one team, with chance 1 - beta.

    eta + sqrt((ln 2 + ln C(V + k - 1, k - 1) + ln(1/beta)) / (2 n)).
    """
    return eta + union_width(rows, ladder_ln_count(submissions, eta), beta)
