"""Zhao: "Adaptive Statistical Learning with Bayesian Differential Privacy" (WPES 2017).

Theory.md 4.8 and 1.4. These hold for independent rows only: lemma 1, on which theorems 1 and 2
rest, is false for correlated ones (E15), and read literally even for independent ones (9.10). They
are here to compare with the paper; nothing that a board shows rests on them. What does hold for
correlated rows is in `correlated.py`.

A Markov quilt of a row is a set of rows that separates it from the rest; N are the nearby rows,
that it does not separate, and b its influence. The Markov blanket is the quilt of the closest rows,
with N = 0 and influence a. For chains, `quilts_of_row` lists them from a transition matrix.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from research.bounds.dwork_nips import LOG2_E, max_information_of_privacy_iid
from research.bounds.markov import Chain
from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)

_Influences = dict[tuple[int | None, int | None], float]


@dataclass(frozen=True)
class Quilt:
    """A Markov quilt: how many nearby rows it leaves, and its influence on them and the row."""

    nearby: int
    influence: float


def quilts_of_row(chain: Chain, rows: int, row: int, reach: int) -> list[Quilt]:
    """Return the quilts {i - a, i + b} with a, b <= reach of row i of 1 .. n of a stationary chain;
    near an end also those that leave its side out. Any subset of the quilts gives a bound.
    """
    return _quilts(_influences(chain, reach), rows, row, reach)


def blanket_influence(chain: Chain) -> float:
    """Return a, the influence of the Markov blanket {i - 1, i + 1} of a row inside the chain."""
    return chain.influence(1, 1)


def lemma2_epsilon(epsilon: float, quilts: Iterable[Quilt]) -> float:
    """Return max over quilts of (epsilon - 4 b) / (N + 1): this much DP implies epsilon-BDP for a
    row with these quilts; take the least over rows. "Implied by", not "if and only if" (theory.md
    E17).
    """
    require_positive(epsilon=epsilon)
    best = max(((epsilon - 4 * q.influence) / (q.nearby + 1) for q in quilts), default=0.0)
    require(best > 0, "No quilt has an influence below a quarter of epsilon.")
    return best


def lemma2_epsilon_of_chain(chain: Chain, rows: int, epsilon: float, reach: int) -> float:
    """Return lemma 2 for all rows of a stationary chain, with quilts up to `reach` rows away."""
    influences = _influences(chain, reach)
    return min(
        lemma2_epsilon(epsilon, _quilts(influences, rows, row, reach))
        for row in _different_rows(rows, reach)
    )


def theorem1_rows_of_chain(
    chain: Chain, rows: int, budget: int, sigma: float, tau: float, beta: float, reach: int
) -> float:
    """Return theorem 1's rows for a chain: `theorem1_rows_hash` at each row's best quilt, the worst
    row's; needs a quilt with tau/3 > 4 b at each.
    """
    _require_theorem1(budget, sigma, tau, beta)
    private = lemma2_epsilon_of_chain(chain, rows, tau / 3, reach)
    return max(_sampling_rows(tau, beta), 9 * budget / (4 * sigma * private))


def theorem1_rows_star(
    budget: int, sigma: float, tau: float, beta: float, correlation: float
) -> float:
    """Return max(9 ln(4/beta) / tau^2, 9 B / (4 sigma (tau/3 - 4 a))); needs tau/3 > 4 a."""
    return _theorem1_rows(budget, sigma, tau, beta, nearby=0, loss=correlation)


def theorem1_rows_hash(
    budget: int, sigma: float, tau: float, beta: float, nearby: int, influence: float
) -> float:
    """Return max(9 ln(4/beta) / tau^2, 9 B (N + 1) / (4 sigma (tau/3 - 4 b))), for Markov quilts
    with N nearby rows of influence b; needs tau/3 > 4 b.
    """
    return _theorem1_rows(budget, sigma, tau, beta, nearby=nearby, loss=influence)


def theorem2_threshold(tau: float, c: float) -> float:
    """Return T = (1 + c) tau / 2, for 0 < c < 1."""
    require_probability(tau=tau, c=c)
    return (1 + c) * tau / 2


def theorem2_sigma(tau: float, questions: int, beta: float, c: float) -> float:
    """Return sigma = (1 - c) tau / (12 ln(4 m / beta)), with T = (1 + c) tau / 2 and 0 < c < 1."""
    require_probability(tau=tau, beta=beta, c=c)
    require_positive(questions=questions)
    return (1 - c) * tau / (12 * math.log(4 * questions / beta))


def theorem2_rows(tau: float, questions: int, beta: float, c: float, budget: int) -> float:
    """Return theorem 1's rows at (1 - c) tau / 4 and beta / (2 m), for independent rows (the
    paper's (31) does not substitute them, theory.md E19).
    """
    sigma = theorem2_sigma(tau, questions, beta, c)
    return theorem1_rows_hash(
        budget, sigma, (1 - c) * tau / 4, beta / (2 * questions), nearby=0, influence=0.0
    )


def theorem3_max_information(rows: int, epsilon: float, beta: float) -> float:
    """Return log2 e (2 epsilon^2 n + epsilon sqrt(2 n ln(2/beta))) bits, as printed."""
    require_positive(rows=rows)
    require_not_negative(epsilon=epsilon)
    require_probability(beta=beta)
    return LOG2_E * (2 * epsilon**2 * rows + epsilon * math.sqrt(2 * rows * math.log(2 / beta)))


def theorem3_max_information_repaired(rows: int, epsilon: float, beta: float) -> float:
    """Return theorem 3 with the constants that its repaired proof gives, NIPS theorem 8's (E16)."""
    return max_information_of_privacy_iid(rows, epsilon, beta)


def lemma1_tail_printed(rows: int, tau: float, sensitivity: float, epsilon: float = 0.0) -> float:
    """Return 4 exp(-tau^2 / (9 n Delta^2)) for epsilon <= tau / (3 n Delta), as printed: false
    (E15).
    """
    return math.exp(lemma1_ln_tail_printed(rows, tau, sensitivity, epsilon))


def lemma1_ln_tail_printed(
    rows: int, tau: float, sensitivity: float, epsilon: float = 0.0
) -> float:
    """Return ln of `lemma1_tail_printed`, which can underflow."""
    require_positive(rows=rows, tau=tau, sensitivity=sensitivity)
    require_not_negative(epsilon=epsilon)
    most = tau / (3 * rows * sensitivity)
    require(epsilon <= most, f"Lemma 1 needs epsilon of at most {most:.6g}.")
    return math.log(4) - tau**2 / (9 * rows * sensitivity**2)


def lemma3_epsilon(epsilon: float, correlation: float) -> float:
    """Return epsilon' = epsilon - 4 a: this much DP implies epsilon-BDP; needs epsilon > 4 a."""
    require_not_negative(correlation=correlation)
    require(epsilon > 4 * correlation, "epsilon must be above four times the correlation.")
    return epsilon - 4 * correlation


def lemma4_epsilon(
    epsilon: float, gap: float, least: float, c: float, rows: int | None = None
) -> tuple[float, int, int]:
    """Return (h, d, s) for a stationary chain with spectral gap g and least chance rho.

    h = min((1 - 6 c) epsilon / (2 d - 1), (1/3 - 2 c) epsilon / (d + s)),
    d and s = ceil((1/g) ln((e^x + 1) / (rho (e^x - 1)))) at x = c epsilon and epsilon / 6 (E18).

    Needs 0 < c < 1/6 and, where `rows` is given, n >= 2 d.
    """
    require_positive(epsilon=epsilon)
    require(0 < gap <= 1 and 0 < least <= 1, "The gap and the least chance lie in (0, 1].")
    require(0 < c < 1 / 6, "c must lie strictly between 0 and 1/6.")
    d = _mixing(c * epsilon, gap, least)
    s = _mixing(epsilon / 6, gap, least)
    require(rows is None or rows >= 2 * d, f"At least {2 * d} rows are needed.")
    h = min((1 - 6 * c) * epsilon / (2 * d - 1), (1 / 3 - 2 * c) * epsilon / (d + s))
    return h, d, s


def lemma4_epsilon_of_chain(
    chain: Chain, rows: int, epsilon: float, c: float
) -> tuple[float, int, int]:
    """Return `lemma4_epsilon` from a transition matrix; the lemma takes reversible chains only."""
    require(chain.reversible, "Lemma 4 needs a reversible chain.")
    return lemma4_epsilon(epsilon, chain.gap, chain.least, c, rows)


def markov_hoeffding_tail(rows: int, deviation: float, eigenvalue: float) -> float:
    """Return 2 exp(-2 (1 - l)/(1 + l) n t^2) for a stationary reversible chain with second
    eigenvalue l = max(lambda_2, 0) (Leon and Perron 2004, statement recalled; checked for two
    states).
    """
    require_positive(rows=rows)
    require_not_negative(deviation=deviation)
    require(0 <= eigenvalue < 1, "The eigenvalue lies in [0, 1).")
    return 2 * math.exp(-2 * (1 - eigenvalue) / (1 + eigenvalue) * rows * deviation**2)


def _theorem1_rows(
    budget: int, sigma: float, tau: float, beta: float, nearby: int, loss: float
) -> float:
    _require_theorem1(budget, sigma, tau, beta)
    require_not_negative(nearby=nearby, loss=loss)
    require(tau / 3 > 4 * loss, "tau / 3 must be above four times the correlation.")
    private = 9 * budget * (nearby + 1) / (4 * sigma * (tau / 3 - 4 * loss))
    return max(_sampling_rows(tau, beta), private)


def _require_theorem1(budget: int, sigma: float, tau: float, beta: float) -> None:
    require_positive(budget=budget, sigma=sigma)
    require_probability(tau=tau, beta=beta)


def _sampling_rows(tau: float, beta: float) -> float:
    return 9 * math.log(4 / beta) / tau**2


def _influences(chain: Chain, reach: int) -> _Influences:
    """Tabulate influences by the distances of the quilt before and after a row; None leaves a side
    out.
    """
    require_positive(reach=reach)
    sides = [None, *range(1, reach + 1)]
    before = [chain.ln_ratios_before(a) for a in sides]
    after = [chain.ln_ratios_after(b) for b in sides]
    return {
        (a, b): float((before[i] + after[j]).max())
        for i, a in enumerate(sides)
        for j, b in enumerate(sides)
    }


def _quilts(influences: _Influences, rows: int, row: int, reach: int) -> list[Quilt]:
    require(1 <= row <= rows, "Rows are counted from 1.")
    earlier, later = row - 1, rows - row
    return [
        Quilt(_nearby(a, earlier) + _nearby(b, later), influences[a, b])
        for a in _side(earlier, reach)
        for b in _side(later, reach)
    ]


def _side(available: int, reach: int) -> list[int | None]:
    """List distances to one side; the side as a whole can be nearby where it is short."""
    distances: list[int | None] = list(range(1, min(available, reach) + 1))
    return [None, *distances] if available < reach else distances


def _nearby(distance: int | None, available: int) -> int:
    return available if distance is None else distance - 1


def _different_rows(rows: int, reach: int) -> Iterator[int]:
    """Yield all rows near an end, and one for those with `reach` rows on both sides: they are
    alike.
    """
    yield from range(1, min(rows, reach + 1) + 1)
    yield from range(max(reach + 2, rows - reach), rows + 1)


def _mixing(x: float, gap: float, least: float) -> int:
    return math.ceil(math.log((math.exp(x) + 1) / (least * math.expm1(x))) / gap)
