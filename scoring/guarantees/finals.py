"""Simultaneous intervals for exact final scores, published once nobody can submit any more.

Rows that nobody asked: the F entered submissions were fixed before the rows were opened, so each
gets beta / F (Bonferroni), and the KL bound may stand at the exact mean (theory.md 5.14).

Rows of the board: an entered submission was a question of the ledger, which set beta_i aside for
it before it was answered. On the ledger's event n kl(mean || truth) <= ln 2 - ln beta_i = 2 n w^2
holds for all questions at once, whichever of them are looked at afterwards; so the exact mean takes
the place of the released cell, and the winner may be chosen by it.
"""

import math

from scoring.guarantees.conditions import require_positive
from scoring.guarantees.intervals import kl_cell_interval, kl_interval


def untouched_interval(
    mean: float, rows: float, finalists: int, beta: float
) -> tuple[float, float]:
    """Return where the true loss lies, for all `finalists` at once with probability 1 - beta.

    mean: the exact mean loss of one of them on `rows` rows that had no part in any answer.
    Never wider than mean +- `bonferroni_width`.
    """
    require_positive(finalists=finalists)
    return kl_interval(rows, mean, math.log(finalists), beta)


def counted_interval(mean: float, rows: float, width: float) -> tuple[float, float]:
    """Return where the true loss lies, for all questions of a ledger at once with its own
    confidence.

    mean: the exact mean loss on the ledger's rows. width: w that was published with the answer to
    this question (`ledger_width`). Never wider than mean +- width.
    """
    require_positive(rows=rows, width=width)
    return kl_cell_interval(rows, mean, mean, 2 * rows * width**2)
