"""Is one entry better than another? Paired tests on the same rows (theory.md 10.6).

A p-value here is for "A's true loss is not below B's". Rows are independent and need not be alike;
the entries' predictions and the form of the test are fixed before labels have a part in anything.
Two classes with losses of 0 or 1, no weights and no groups: `p_binomial`. Everything else:
`p_betting`. Never the smaller of two.

All p-values err upwards, by less than 1e-9 of themselves at 100,000 rows, and none is below
`LEAST`. They are made of +, x, / and square roots in a fixed order, since a logarithm's last digit
depends on the machine.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.conditions import require, require_not_negative, require_positive
from scoring.threads import spread

Values = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST: Final = 1e-300
_FAR: Final = 19  # P(Bin(D, 1/2) >= D/2 + 19 sqrt(D)) < exp(-2 * 19^2) < LEAST
_SCALES: Final = 8  # of bets, each half of the one before, from each of two largest ones
_LARGEST_BETS: Final = (0.9, 0.9 / math.sqrt(2))
# Rows and pairs at a time, for a processor's cache. Factors lie between 0.1 and 2^7 + 1, so that
# the products of a block are doubles.
_BLOCK: Final = 64
_CHUNK: Final = 512
_ROUNDING: Final = 2.0**-48  # of one factor, the smallest of which is 0.1
_PIECES: Final = 8


def p_binomial(differ: int, right: int) -> float:
    """Return P(Bin(D, 1/2) >= k), where A is right on k of the D rows on which predictions differ.

    It is 1 unless k >= D/2 + 1: below that it does not hold where rows are not alike (Hoeffding
    1956; with chances of .75, .75 and 0 for A on three rows two are right 9/16 of the time).
    """
    return float(binomial_p_values(np.array([differ]), np.array([right]))[0])


def binomial_p_values(differ: Integers, right: Integers) -> Floats:
    """Return `p_binomial` of many pairs. Raises ConditionError unless 0 <= k <= D for each."""
    require(bool(np.all((right >= 0) & (right <= differ))), "A is right on 0 to D rows.")
    values = np.ones(len(differ))
    proven = 2 * right >= differ + 2
    middles = _middle_terms(int(differ.max(initial=0)))
    for rows in np.unique(differ[proven]):
        chosen = proven & (differ == rows)
        tails = _upper_tails(int(rows), middles)
        beyond = right[chosen] - (rows + 1) // 2
        values[chosen] = np.where(
            beyond < len(tails), tails[np.minimum(beyond, len(tails) - 1)], LEAST
        )
    return values


def duel_threshold(differ: int, share: float) -> int | None:
    """Return the fewest rows out of D on which A has to be right to be surely better than B.

    share: beta pi_t Q_t(h), set aside for the question (theory.md 10.9). None if all D are too few.
    """
    require_not_negative(differ=differ)
    require_positive(share=share)
    right = np.arange(differ // 2 + 1, differ + 1)
    reached = binomial_p_values(np.full(len(right), differ), right) <= share
    return int(right[reached.argmax()]) if reached.any() else None


def p_betting(differences: Sequence[float] | Floats, scale: float = 1.0) -> float:
    """Return 1 / mean_j prod_r (1 + l_j d_r / scale), at most 1, for l_j = .9 * 2^(-j/2), j < 16.

    differences: the loss of B less that of A on each row or group of rows, weighted. scale: the
        largest that any of them could have been, whatever the labels. Rows of 0 don't matter.
    If A is not better, E prod <= prod(1 + l E d_r) <= exp(l sum E d_r) <= 1; then Markov.
    """
    require_positive(scale=scale)
    values = np.asarray(differences, dtype=np.float64)
    require(bool(np.all(np.abs(values) <= scale)), "No difference is larger than the scale.")
    both = np.stack([np.zeros(len(values)), values])
    return float(betting_p_values(both, np.array([0]), np.array([1]), np.array([scale]))[0])


def betting_p_values(losses: Values, better: Integers, worse: Integers, scales: Floats) -> Floats:
    """Return `p_betting` of many pairs, for "the first of a pair is not better than its second".

    losses: entries by rows (or groups of rows), any numbers; read a block of rows at a time.
    better, worse: the entries of each pair. scales: of each pair, positive.
    """
    chunks = [slice(first, first + _CHUNK) for first in range(0, len(better), _CHUNK)]
    # A pair is worked on in one thread alone, so that their number changes nothing.
    pieces = [chunks[first::_PIECES] for first in range(min(_PIECES, len(chunks)))]
    values = np.ones(len(better))

    def work(piece: list[slice]) -> None:
        bets = [(better[each], worse[each], scales[each]) for each in piece]
        for each, found in zip(piece, _bet(losses, bets), strict=True):
            values[each] = found

    spread(work, pieces)
    return values


def _middle_terms(most: int) -> Floats:
    """Return C(D, ceil(D/2)) / 2^D for D = 2m - 1 and 2m, which are the same, for each m."""
    pairs = np.arange(1, most // 2 + 2)
    ratios = np.concatenate([np.ones(1), (2 * pairs - 1) / (2 * pairs)])
    return np.multiply.accumulate(ratios)


def _upper_tails(differ: int, middles: Floats) -> Floats:
    """Return P(Bin(D, 1/2) >= k) for k = ceil(D/2) onwards, from above, as far as `LEAST`."""
    middle = (differ + 1) // 2
    last = min(differ, middle + math.ceil(_FAR * math.sqrt(differ)))
    k = np.arange(middle, last)
    with np.errstate(under="ignore"):
        ratios = np.concatenate([middles[middle : middle + 1], (differ - k) / (k + 1)])
        terms = np.multiply.accumulate(ratios)
        # What lies beyond the last of them is far below LEAST.
        tails = np.add.accumulate(terms[::-1])[::-1]
    above = 1 + 4 * (differ + 2) * 2.0**-52
    return np.clip(tails * above, LEAST, 1.0)


def _bet(losses: Values, pairs: list[tuple[Integers, Integers, Floats]]) -> list[Floats]:
    """Return the p-values of some chunks of pairs, in one pass over the losses."""
    rows = losses.shape[1]
    wealths = [_Wealth(len(scales)) for _, _, scales in pairs]
    for first in range(0, rows, _BLOCK):
        block = np.array(losses[:, first : first + _BLOCK].T, dtype=np.float64, order="C")
        for (better, worse, scales), wealth in zip(pairs, wealths, strict=True):
            differences = block.take(worse, axis=1)
            differences -= block.take(better, axis=1)
            wealth.multiply(differences, scales)
    return [wealth.p_values(rows) for wealth in wealths]


class _Wealth:
    """What 1 has become by each bet on each pair, as a mantissa and an exponent of 2."""

    def __init__(self, pairs: int) -> None:
        self._mantissas = np.ones((2 * _SCALES, pairs))
        self._exponents = np.zeros((2 * _SCALES, pairs), np.int64)

    def multiply(self, differences: Floats, scales: Floats) -> None:
        """Multiply by 2^i (1 + l d / 2^i) of each row, for each largest bet l and i < 8.

        From i to i + 1 a factor grows by 2^i: an addition makes each bet of the one before.
        """
        products = np.empty_like(self._mantissas)
        for odd, largest in enumerate(_LARGEST_BETS):
            factors = differences * (largest / scales)
            for power in range(_SCALES):
                factors += 2.0 ** max(0, power - 1)
                np.multiply.reduce(factors, axis=0, out=products[2 * power + odd])
        products *= self._mantissas
        self._mantissas, shifts = np.frexp(products)
        self._exponents += shifts

    def p_values(self, rows: int) -> Floats:
        """Return 1 / mean of the bets after so many rows, rounded up."""
        powers = np.repeat(np.arange(_SCALES), 2)[:, np.newaxis]
        exponents = self._exponents - rows * powers
        top = exponents.max(axis=0)
        with np.errstate(under="ignore"):
            mean = np.add.reduce(np.ldexp(self._mantissas, exponents - top)) / (2 * _SCALES)
            values = np.ldexp(1 / mean, np.clip(-top, -2000, 1000))
        p: Floats = np.clip(values * (1 + rows * _ROUNDING), LEAST, 1.0)
        return p
