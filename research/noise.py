"""Exact discrete Gaussian noise, which no served mechanism draws."""

from fractions import Fraction
from typing import Protocol

from scoring.noise import Bytes, SeededNoise, bernoulli_exp, sample_laplace


class GaussianNoise(Protocol):
    """Integer Gaussian noise for one question; see `scoring.noise.Noise`."""

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        """Draw a discrete Gaussian: P(z) proportional to exp(-z^2 / (2 sigma^2))."""
        ...


def sample_gaussian(sigma: Fraction, source: Bytes) -> int:
    """Sample an exact discrete Gaussian, P(z) proportional to exp(-z^2 / (2 sigma^2)), sigma > 0.

    Algorithm 3 of Canonne, Kamath and Steinke (2020), in integers and fair bits only.
    """
    if sigma <= 0:
        raise ValueError("noise of scale 0 would release the holdout itself")
    variance = sigma * sigma
    scale = sigma.numerator // sigma.denominator + 1
    while True:
        candidate = sample_laplace(Fraction(scale), source)
        distance = abs(candidate) - variance / scale
        if _accept(distance * distance / (2 * variance), source):
            return candidate


def _accept(exponent: Fraction, source: Bytes) -> bool:
    """Return True with probability exp(-exponent), for any exponent that is not negative."""
    while exponent > 1:
        if not bernoulli_exp(1, 1, source):
            return False
        exponent -= 1
    return bernoulli_exp(exponent.numerator, exponent.denominator, source)


class SeededGaussianNoise(SeededNoise):
    """Seeded noise with Gaussian draws, each of them fresh."""

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        """Draw afresh, whatever `draw` and `index` are."""
        return sample_gaussian(sigma, self.source)
