"""Duels: whether one file is surely better than another on the private rows (theory.md 10.9).

A question of its own, counted and charged as every other: one bit. A yes is certified jointly with
all else that the board says; a no says nothing.
"""

import math
from fractions import Fraction

from scoring.guarantees.conditions import require


def duel_threshold(rows: int, share: Fraction) -> int | None:
    """Return in how many rows a file must be right to be surely better; None if none are enough.

    rows: those on which the predictions of two files differ, D, chosen without looking at labels.
    share: beta pi_t Q_t of the duel, one-sided. It is the smallest k of at least D/2 + 1 with
    P(Bin(D, 1/2) >= k) <= share, exactly. Two classes and plain rows only (Hoeffding 1956).
    """
    require(rows >= 0, "Rows are counted.")
    require(0 < share < 1, "A share lies strictly between 0 and 1.")
    most = share.numerator * 2**rows // share.denominator
    way, tail, right = 1, 0, rows
    while right >= math.ceil(Fraction(rows, 2)) + 1 and tail + way <= most:
        tail += way
        way = way * right // (rows - right + 1)
        right -= 1
    return right + 1 if right < rows else None
