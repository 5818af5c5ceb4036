"""Exact Gaussian noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from research.noise import SeededGaussianNoise, sample_gaussian
from scoring.noise import COMPARISON
from tests.scoring.sampled import check_law


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(20)])
def test_a_sampler_has_its_law(scale: Fraction) -> None:
    check_law(sample_gaussian, lambda z: math.exp(-z * z / (2 * float(scale) ** 2)), scale)


def test_no_floating_point_number_is_made_by_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Fraction) -> float:
        raise AssertionError("a sampler made a float")

    monkeypatch.setattr(Fraction, "__float__", refuse)
    source = np.random.default_rng(5).bytes
    for _ in range(50):
        assert type(sample_gaussian(Fraction(7, 3), source)) is int


def test_every_draw_is_fresh() -> None:
    noise, wide = SeededGaussianNoise(np.random.default_rng(1)), Fraction(10**40, 7)
    assert noise.gaussian(wide, COMPARISON, 0) != noise.gaussian(wide, COMPARISON, 0)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_adds_no_noise_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="scale 0"):
        sample_gaussian(scale, np.random.default_rng(1).bytes)
