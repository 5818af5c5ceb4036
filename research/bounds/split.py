"""Several bounds for one number: beta is split between them before anything is seen.

The narrowest of several bounds holds with confidence 1 - beta only if each was given a part of
beta beforehand (theory.md 0.2). The parts are written where the bounds are listed, so that none can
be chosen after the fact. Bounds that hold on one and the same event need no split: Hoeffding's and
the KL bound of the ledger are of this kind (`certificate.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scoring.errors import ConditionError
from scoring.guarantees.conditions import require, require_probability


@dataclass(frozen=True)
class Bound:
    """A bound that is named where it is shown: its part of beta, and its width at that beta."""

    name: str
    part: Fraction
    width: Callable[[float], float]


@dataclass(frozen=True)
class Shown:
    """The bound that is shown, by its name, and the width that holds with it."""

    name: str
    width: float


def narrowest(bounds: Sequence[Bound], beta: float) -> Shown:
    """Return the narrowest of all bounds at their parts of beta; all of them hold together with
    chance 1 - beta. A bound whose conditions fail is left out, and its part with it.

    Raises ConditionError if the parts add up to more than 1, or if no bound is left.
    """
    require_probability(beta=beta)
    parts = [bound.part for bound in bounds]
    require(all(part > 0 for part in parts), "Every bound has a part of beta.")
    require(sum(parts) <= 1, "The parts of beta add up to at most 1.")
    found = [shown for bound in bounds if (shown := _at(bound, beta)) is not None]
    require(bool(found), "No bound applies.")
    return min(found, key=lambda shown: shown.width)


def _at(bound: Bound, beta: float) -> Shown | None:
    try:
        return Shown(bound.name, bound.width(float(bound.part) * beta))
    except ConditionError:
        return None
