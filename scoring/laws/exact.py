"""Logarithms in whole millionths of a nat, rounded up, the same on every machine.

Decimal's operations, exp and ln among them, are correctly rounded by its specification, unlike
those of a platform's C library. Nothing depends on the context of whoever calls.
"""

import math
from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

from scoring.guarantees.conditions import require

MILLION: Final = 1_000_000
_DIGITS: Final = 28
_CONTEXT: Final = Context(prec=_DIGITS, Emin=-999_999, Emax=999_999)  # copied, never entered itself
_SLACK: Final = Decimal("1e-9")  # of a millionth: far more than 28 digits of a million nats lose
_LN_ROOT_TWO_PI: Final = Decimal("0.918938533204672741780329736405618")
_LN_BASEL: Final = Decimal("0.4977003024707453474743773443")  # ln of pi^2 / 6
_HALF: Final = Decimal("0.5")
_NEGLIGIBLE: Final = 60 * MILLION  # leaving a law out that is so much dearer rounds up, by 1e-26
_EXACT_FACTORIALS: Final = 64
# B_2k / (2k (2k - 1)) of Stirling's series, whose error is below the first term left out: 1e-25.
_STIRLING: Final = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360_360))


@lru_cache(maxsize=4096)
def micro(probability: Fraction) -> int:
    """Return -ln of a probability in millionths, rounded up: exactly, whatever its fraction."""
    require(0 < probability <= 1, "A code has a probability.")
    if probability == 1:
        return 0
    digits = _DIGITS
    while True:
        with localcontext(_CONTEXT) as exact:
            exact.prec = digits
            ratio = Decimal(probability.denominator) / probability.numerator
            length = MILLION * ratio.ln()
            error = Decimal(10) ** (15 - digits)  # fewer than 14 digits stand before the point
            low, high = math.ceil(length - error), math.ceil(length + error)
        if low == high:  # as happens at last: ln of a fraction other than 1 is no fraction
            return low
        digits *= 2


def ln_up(*factors: int | Decimal) -> int:
    """Return the sum of ln of some numbers in millionths, never too small."""
    with localcontext(_CONTEXT):
        return _round_up(sum(map(_ln, factors), Decimal(0)))


def ln_squared_up(number: int) -> int:
    """Return ln of ln(number)^2 in millionths, never too small."""
    with localcontext(_CONTEXT):
        return _round_up(2 * _ln(number).ln())


@lru_cache(maxsize=4096)
def basel_up(index: int) -> int:
    """Return ln of pi^2 index^2 / 6 in millionths, never too small."""
    with localcontext(_CONTEXT):
        return _round_up(_LN_BASEL + 2 * _ln(index))


def binomial_up(total: int, chosen: int) -> int:
    """Return ln C(total, chosen) in millionths, never too small."""
    if chosen in {0, total}:
        return 0
    with localcontext(_CONTEXT):
        parts = _ln_factorial(chosen) + _ln_factorial(total - chosen)
        return _round_up(_ln_factorial(total) - parts)


def mix(parts: Iterable[tuple[Fraction, int | None]]) -> int | None:
    """Return the length of sum of weight * exp(-length), in millionths, never too small.

    None is the length of what a law rules out. The weights add up to at most 1, and are fixed
    before the first answer: that is what makes the mixture a law, at most -ln weight dearer than
    each.
    """
    coded = tuple((weight, length) for weight, length in parts if weight > 0 and length is not None)
    return _mix(coded) if coded else None


@lru_cache(maxsize=4096)
def _mix(coded: tuple[tuple[Fraction, int], ...]) -> int:
    least = min(length for _, length in coded)
    with localcontext(_CONTEXT):
        total = Decimal(0)
        for weight, length in coded:
            if length - least < _NEGLIGIBLE:
                part = (Decimal(least - length) / MILLION).exp()
                total += part * weight.numerator / weight.denominator
        return least if total == 1 else least + _round_up(-total.ln())


def floor_less_root(number: Fraction, square: Fraction) -> int:
    """Return floor(number - sqrt(square)), exactly; ceil(x + sqrt(y)) is -floor(-x - sqrt(y))."""
    unit = number.denominator * square.denominator
    whole = int(square * unit * unit)
    root = math.isqrt(whole - 1) + 1 if whole else 0  # rounded up
    return (int(number * unit) - root) // unit


@lru_cache(maxsize=4096)
def _ln(number: int | Decimal) -> Decimal:
    """Return ln of a number. Call it in the context of this module."""
    return Decimal(number).ln()


def _round_up(nats: Decimal) -> int:
    return math.ceil(nats * MILLION + _SLACK)


@lru_cache(maxsize=4096)
def _ln_factorial(number: int) -> Decimal:
    if number < _EXACT_FACTORIALS:
        return _ln(math.factorial(number))
    n = power = Decimal(number)
    total = (n + _HALF) * _ln(number) - n + _LN_ROOT_TWO_PI
    for numerator, divisor in _STIRLING:
        total += numerator / (divisor * power)
        power *= n * n
    return total
