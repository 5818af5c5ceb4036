"""The keyed stream and the exact samplers."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from scoring.noise import (
    ANSWER,
    COMPARISON,
    THRESHOLD,
    KeyedNoise,
    Noise,
    SeededNoise,
    sample_laplace,
)
from tests.scoring.sampled import SAMPLES, check_law

SECRET = bytes(range(32))
WIDE = Fraction(10**40, 7)  # so wide that two independent draws are never equal
ASKED = ("holdout", "digest", "question", "team", "board")
PINNED = [686, -126, -476, -132, 2250, 266]
TAG = "4ceef293251ef6945860a3532d366ea88aa00858219c85cea901c5fb62264a69"


def keyed(
    holdout: str = "h", digest: str = "d", question: str = "q", team: str = "t", board: str = "b"
) -> Noise:
    return KeyedNoise(SECRET, holdout).for_question(digest, question, team=team, board=board)


def test_the_same_arguments_give_the_same_number() -> None:
    first, again = keyed(), keyed()
    for draw in (THRESHOLD, COMPARISON, ANSWER):
        assert first.laplace(WIDE, draw, 3) == again.laplace(WIDE, draw, 3)
        assert first.laplace(WIDE, draw, 3) == first.laplace(WIDE, draw, 3)


def test_the_stream_never_changes_between_versions() -> None:
    """A change here would make every stored holdout answer differently."""
    noise = keyed()
    numbers = [
        noise.laplace(Fraction(1000), draw, index)
        for draw in (THRESHOLD, COMPARISON, ANSWER)
        for index in (0, 1)
    ]
    assert numbers == PINNED


def test_a_threshold_depends_on_holdout_board_and_firing_index_alone() -> None:
    expected = keyed().laplace(WIDE, THRESHOLD, 5)
    assert keyed(digest="other").laplace(WIDE, THRESHOLD, 5) == expected
    assert keyed(question="other").laplace(WIDE, THRESHOLD, 5) == expected
    assert keyed(team="other").laplace(WIDE, THRESHOLD, 5) == expected
    assert keyed(board="other").laplace(WIDE, THRESHOLD, 5) != expected
    assert keyed(holdout="other").laplace(WIDE, THRESHOLD, 5) != expected
    assert keyed().laplace(WIDE, THRESHOLD, 6) != expected


@pytest.mark.parametrize("draw", [COMPARISON, ANSWER])
def test_other_draws_depend_on_everything_that_is_asked(draw: str) -> None:
    noises = [keyed(), *(keyed(**{name: "x"}) for name in ASKED)]
    numbers = {noise.laplace(WIDE, draw, index) for noise in noises for index in (0, 1)}
    assert len(numbers) == 2 * len(noises)


def test_draws_and_secrets_are_independent() -> None:
    noise = keyed()
    other = KeyedNoise(bytes(32), "h").for_question("d", "q", team="t", board="b")
    numbers = {
        each.laplace(WIDE, draw, 0)
        for each in (noise, other)
        for draw in (THRESHOLD, COMPARISON, ANSWER)
    }
    assert len(numbers) == 6


def test_no_two_labels_run_together() -> None:
    labels = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), ("a\x00b", "c")]
    numbers = {keyed("h", *label).laplace(WIDE, ANSWER, 0) for label in labels}
    numbers |= {keyed("h", "d", "q", *label).laplace(WIDE, ANSWER, 0) for label in labels}
    assert len(numbers) == 2 * len(labels)


def test_a_tag_depends_on_secret_holdout_predictions_team_and_board() -> None:
    source = KeyedNoise(SECRET, "h")
    tags = {
        source.tag("d", team="t", board="b"),
        source.tag("e", team="t", board="b"),
        source.tag("d", team="u", board="b"),
        source.tag("d", team="t", board="c"),
        source.tag("dt", team="", board="b"),
        KeyedNoise(SECRET, "i").tag("d", team="t", board="b"),
        KeyedNoise(bytes(32), "h").tag("d", team="t", board="b"),
    }
    assert len(tags) == 7
    assert source.tag("d", team="t", board="b") == TAG


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedNoise(bytes(31), "h")


def test_a_secret_is_not_shown() -> None:
    source = KeyedNoise(SECRET, "h")
    for text in (repr(source), repr(source.for_question("d", "q", team="t", board="b"))):
        assert "x01" not in text
        assert str(SECRET) not in text


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_adds_no_noise_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="scale 0"):
        keyed().laplace(scale, ANSWER, 0)


def test_an_unknown_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="not a draw"):
        keyed().laplace(WIDE, "guess", 0)


def test_seeded_noise_keeps_a_threshold_and_refreshes_the_rest() -> None:
    noise = SeededNoise(np.random.default_rng(1))
    assert noise.laplace(WIDE, THRESHOLD, 0) == noise.laplace(WIDE, THRESHOLD, 0)
    assert noise.laplace(WIDE, THRESHOLD, 0) != noise.laplace(WIDE, THRESHOLD, 1)
    assert noise.laplace(WIDE, ANSWER, 0) != noise.laplace(WIDE, ANSWER, 0)
    assert noise.laplace(WIDE, COMPARISON, 0) != noise.laplace(WIDE, COMPARISON, 0)


def test_seeded_noise_is_reproducible() -> None:
    first, again = (SeededNoise(np.random.default_rng(7)) for _ in range(2))
    for index in range(20):
        assert first.laplace(WIDE, ANSWER, index) == again.laplace(WIDE, ANSWER, index)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(20)])
def test_a_sampler_has_its_law(scale: Fraction) -> None:
    check_law(sample_laplace, lambda z: math.exp(-abs(z) / float(scale)), scale)


def test_the_keyed_stream_has_the_same_law() -> None:
    scale = Fraction(5, 2)
    drawn = [keyed(digest=str(i)).laplace(scale, COMPARISON, 0) for i in range(SAMPLES)]
    for z in (1, 3, 8):
        tail = 2 * math.exp(-z / scale) / (1 + math.exp(-1 / scale))
        seen = sum(abs(number) >= z for number in drawn)
        assert stats.binomtest(seen, SAMPLES, tail).pvalue > 1e-3


def test_wide_noise_has_no_floating_point_grid() -> None:
    """In doubles every number of this size would be a multiple of a large power of two."""
    source = np.random.default_rng(3).bytes
    remainders = Counter(sample_laplace(WIDE, source) % 4 for _ in range(400))
    assert min(remainders[k] for k in range(4)) > 60


def test_no_floating_point_number_is_made_by_a_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Fraction) -> float:
        raise AssertionError("a sampler made a float")

    monkeypatch.setattr(Fraction, "__float__", refuse)
    source = np.random.default_rng(5).bytes
    for _ in range(50):
        assert type(sample_laplace(Fraction(7, 3), source)) is int
