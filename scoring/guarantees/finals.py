"""Simultaneous intervals for exact final scores, published once nobody can submit any more.

Rows that nobody asked: the F entered submissions were fixed before the rows were opened, so each
gets beta / F (Bonferroni), and the KL bound may stand at the exact mean (theory.md 5.14).

Rows of the board: an entered submission was a question of the ledger, which set beta_i aside for
it before it was answered. On the ledger's event n kl(mean || truth) <= ln 2 - ln beta_i = 2 n w^2
holds for all questions at once, whichever of them are looked at afterwards; so the exact mean takes
the place of the released cell, and the winner may be chosen by it.

Rows in groups are counted, and bounded, by the `design` that was published with them.
"""

import math

from scoring.guarantees.conditions import require_positive, require_probability
from scoring.guarantees.groups import Design


def untouched_interval(
    mean: float, rows: int, finalists: int, beta: float, *, design: Design | None = None
) -> tuple[float, float]:
    """Return where the true loss lies, for all `finalists` at once with probability 1 - beta.

    mean: the exact mean loss of one of them on `rows` rows that had no part in any answer.
    Never wider than mean +- `bonferroni_width` of the design's rows.
    """
    require_positive(rows=rows, finalists=finalists)
    require_probability(beta=beta)
    ln_budget = math.log(2) + math.log(finalists) - math.log(beta)
    return (design or Design.of_rows(rows)).interval(mean, mean, ln_budget)


def counted_interval(
    mean: float, rows: int, width: float, *, design: Design | None = None
) -> tuple[float, float]:
    """Return where the true loss lies, for all questions of a ledger at once with its own
    confidence.

    mean: the exact mean loss on the ledger's rows. width: w that was published with the answer to
    this question (`ledger_width`). Never wider than mean +- width.
    """
    require_positive(rows=rows, width=width)
    return (design or Design.of_rows(rows)).interval(mean, mean, 2 * rows * width**2)
