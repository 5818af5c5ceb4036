"""The shares pi_t of the questions t = 1, 2, ..., as -ln pi_t in millionths, rounded up.

Theory.md 10.2. Each family adds up to at most 1. Answers without a certificate need no share.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Final

from scoring.guarantees.conditions import require
from scoring.laws.exact import basel_up, ln_squared_up, ln_up, micro

RESERVE: Final = Fraction(1, 10)
_OPEN_SUM: Final = Decimal("2.12")  # the sum of 1 / ((t + 1) ln^2(t + 1)) is 2.10974


def basel(question: int) -> int:
    """Return the length of 6 / (pi^2 t^2), the share that theory.md 2.1 gives to question t."""
    _require_counted(question)
    return basel_up(question)


def open_ended(question: int) -> int:
    """Return the length of 1 / (2.12 (t + 1) ln^2(t + 1)), for a ledger without an end."""
    _require_counted(question)
    return ln_up(_OPEN_SUM, question + 1) + ln_squared_up(question + 1)


def declared(question: int, limit: int, reserve: Fraction = RESERVE) -> int:
    """Return the length of a question's share where `limit` questions were declared beforehand.

    Each of these has an equal part of 1 - reserve; those after them share the reserve as on a
    ledger without an end. The limit never changes.
    """
    _require_counted(question)
    _require_counted(limit)
    require(0 < reserve < 1, "The reserve is a part of the whole.")
    if question <= limit:
        return micro((1 - reserve) / limit)
    return micro(reserve) + open_ended(question - limit)


def _require_counted(number: int) -> None:
    require(number >= 1, "Questions are counted from 1.")
