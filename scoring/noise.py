"""Exact integer noise."""

from fractions import Fraction
from typing import Final, Protocol

THRESHOLD: Final = "threshold"
COMPARISON: Final = "comparison"
ANSWER: Final = "answer"


class Noise(Protocol):
    """Integer noise for one question about one set of predictions.

    `draw` is THRESHOLD, COMPARISON or ANSWER and `index` the firing index. The same arguments
    always give the same number.
    """

    def laplace(self, scale: Fraction, draw: str, index: int) -> int:
        """Discrete Laplace: P(z) proportional to exp(-|z| / scale). Scale 0 gives 0."""
        ...

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        """Discrete Gaussian: P(z) proportional to exp(-z^2 / (2 sigma^2)). Sigma 0 gives 0."""
        ...
