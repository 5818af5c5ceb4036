"""The certified interval of a released loss, from what was released and nothing else.

The ledger gives question i the chance beta_i. With chance 1 - beta, all questions at once satisfy

    n kl(mean || truth) <= ln 2 - ln beta_i = 2 n w^2   (Chernoff, both sides)

for the w that was published with the answer. By Pinsker's inequality that event contains
Hoeffding's |mean - truth| <= w, so both bounds hold on it and beta need not be split between them;
the interval is the KL bound's, which is never wider.
The mean itself stays hidden: what was released says that it lies within `tolerance` of the shown
loss, and the interval covers the truth for every mean there (theory.md 2.1, 4.5 and 9.1).

Where rows come in groups, what is set aside is the same, and the bound is that of the published
design: Hoeffding's may count groups as more rows than the KL bound does (theory.md 10.7).
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from scoring.guarantees.conditions import require_positive
from scoring.guarantees.groups import Design
from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.laws.exact import MILLION
from scoring.mechanisms import answer_kind


class Released(Protocol):
    """What of a release is needed: `scoring.mechanisms.base.Answer` has it, and so has its row."""

    @property
    def kind(self) -> str: ...

    @property
    def level(self) -> int | None: ...

    @property
    def steps(self) -> int: ...

    @property
    def width(self) -> float: ...

    @property
    def tolerance(self) -> float: ...


@dataclass(frozen=True)
class Certificate:
    """The true loss lies in [low, high], for all releases at once with the board's confidence."""

    low: float
    high: float


def interval_fields(
    released: Released,
    rows: int,
    *,
    design: Design | None = None,
    rounding: float = 0.0,
    length: int | None = None,
) -> dict[str, Any]:
    """Return `low`, `high` and `bound` of an entry: the interval that is shown of it, for good.

    Answers that bring no score of the file that they answer have none.
    """
    shows_own = answer_kind(released.kind).shows == "own"
    design = design or Design.of_rows(rows)
    found = (
        certify(released, rows, design=design, rounding=rounding, length=length)
        if shows_own
        else None
    )
    if found is None:
        return {"low": None, "high": None, "bound": ""}
    return {"low": found.low, "high": found.high, "bound": design.bound}


def certify(
    released: Released,
    rows: int,
    *,
    design: Design | None = None,
    rounding: float = 0.0,
    length: int | None = None,
) -> Certificate | None:
    """Return the certified interval of a release on `rows` private rows.

    rows: the whole ones that its width was made for. design: how they are counted and bounded; as
        independent ones, by the KL bound, if left out.
    length: L in millionths of a nat, where the ledger has laws; else it follows from the width.
    rounding: how far a row's loss as it is counted may be from the exact one. The bounds hold for
        counted losses, which are in [0, 1] too; the means of the two, over rows or expected, differ
        by no more, so that the interval moved out by it holds for exact losses.
    Some kinds of answers bound the loss from one side only. None where the release certifies
    nothing, or shows no loss to say it of.
    """
    require_positive(rows=rows)
    design = design or Design.of_rows(rows)
    width = released.width * math.sqrt(rows / design.bound_rows)
    bounds = answer_kind(released.kind).bounds
    if bounds == "nothing" or released.level is None:
        return None
    loss, within = released.level / released.steps, released.tolerance
    # The count of section 2 promised nothing where Hoeffding's width alone reached so far.
    if length is None and width + within >= NO_CERTIFICATE:
        return None
    budget = 2 * rows * released.width**2 if length is None else length / MILLION
    low, high = design.interval(loss - within, loss + within, budget)
    if (high - low) / 2 >= NO_CERTIFICATE:
        return None
    return Certificate(
        low=0.0 if bounds == "above" else max(0.0, low - rounding),
        high=1.0 if bounds == "below" else min(1.0, high + rounding),
    )
