"""Stationary Markov chains of few states: their law, their gap, and how far one row reaches.

From a transition matrix, for Zhao's tools (`zhao.py`) and for concentration over correlated rows
(`correlated.py`). Theory.md 4.8.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.conditions import require, require_positive

_ROUNDING = 1e-9
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """Rows X_1 -> X_2 -> ..., X_1 drawn from the stationary law.

    transition: transition[x, y] = P(X_{i+1} = y | X_i = x); at least two states. Raises
    ConditionError unless the chain is irreducible and aperiodic.
    """

    transition: Matrix
    stationary: Matrix = field(init=False)

    def __post_init__(self) -> None:
        matrix = np.array(self.transition, dtype=np.float64)
        _require_stochastic(matrix)
        _require_mixing(matrix)
        object.__setattr__(self, "transition", matrix)
        object.__setattr__(self, "stationary", _stationary(matrix))

    @property
    def least(self) -> float:
        """rho: the chance of the least likely state."""
        return float(self.stationary.min())

    @property
    def reversible(self) -> bool:
        """Whether the chain run backwards has the same law (detailed balance)."""
        flow = self.stationary[:, None] * self.transition
        return bool(np.allclose(flow, flow.T, rtol=0, atol=_ROUNDING))

    @property
    def gap(self) -> float:
        """g = 1 - max |lambda_j| over all eigenvalues but the first."""
        return 1 - float(np.abs(self._others()).max())

    @property
    def second_eigenvalue(self) -> float:
        """max(lambda_2, 0). Needs a reversible chain, whose eigenvalues are real."""
        require(self.reversible, "Only a reversible chain has real eigenvalues.")
        return max(0.0, float(self._others().real.max()))

    def influence(self, before: int | None, after: int | None) -> float:
        """Return I(X_{i-before}, X_{i+after} ; X_i): the largest ln P(quilt | x) / P(quilt | x')
        for a row in the middle, infinite where it can be excluded; None leaves that side out.

        This is b_i of a Markov quilt: given nearby rows on one side, that side of the quilt says
        nothing more, so the largest over sets of nearby rows is that of the empty set. The nearest
        rows, 1 and 1, are the Markov blanket: a_i.
        """
        return float((self.ln_ratios_before(before) + self.ln_ratios_after(after)).max())

    def ln_ratios_before(self, steps: int | None) -> Matrix:
        """Return [x, x'] -> the largest ln P(X_{i-steps} | x) / P(X_{i-steps} | x'); 0 for None."""
        return self._ln_ratios(self._backwards(), steps)

    def ln_ratios_after(self, steps: int | None) -> Matrix:
        """Return [x, x'] -> the largest ln P(X_{i+steps} | x) / P(X_{i+steps} | x'); 0 for None."""
        return self._ln_ratios(self.transition, steps)

    def _ln_ratios(self, matrix: Matrix, steps: int | None) -> Matrix:
        if steps is None:
            return np.zeros_like(matrix)
        require_positive(steps=steps)
        return _ln_ratios(np.linalg.matrix_power(matrix, steps))

    def _backwards(self) -> Matrix:
        """Return P(X_{i-1} = y | X_i = x)."""
        flow = self.stationary[:, None] * self.transition
        backwards: Matrix = flow.T / self.stationary[:, None]
        return backwards

    def _others(self) -> NDArray[np.complex128]:
        values = np.linalg.eigvals(self.transition).astype(np.complex128)
        return np.delete(values, np.argmin(np.abs(values - 1)))


def _ln_ratios(conditional: Matrix) -> Matrix:
    """Return [x, x'] -> the largest ln P(y | x) / P(y | x') over y that x allows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(conditional)
        ratios = logs[:, None, :] - logs[None, :, :]
    allowed = np.broadcast_to(conditional[:, None, :] > 0, ratios.shape)
    largest: Matrix = np.where(allowed, ratios, -math.inf).max(axis=2)
    return largest


def _stationary(matrix: Matrix) -> Matrix:
    """Return the law d with d P = d, from linear equations and the sum 1."""
    states = len(matrix)
    equations = np.vstack([matrix.T - np.eye(states), np.ones(states)])
    right = np.append(np.zeros(states), 1.0)
    law: Matrix = np.linalg.lstsq(equations, right, rcond=None)[0]
    return law


def _require_stochastic(matrix: Matrix) -> None:
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and len(matrix) >= 2
    require(square, "A transition matrix is square, with at least two states.")
    rows = np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=_ROUNDING)
    require(bool((matrix >= 0).all()) and rows, "Each row of a transition matrix is a law.")


def _require_mixing(matrix: Matrix) -> None:
    """Require that some power is positive, as of every irreducible, aperiodic matrix.

    (S - 1)^2 + 1 is high enough (Wielandt), and any higher one too.
    """
    steps = (matrix > 0).astype(np.int64)
    for _ in range(math.ceil(math.log2((len(matrix) - 1) ** 2 + 1)) + 1):
        steps = (steps @ steps > 0).astype(np.int64)
    require(bool(steps.all()), "The chain must be irreducible and aperiodic.")
