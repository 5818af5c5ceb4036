"""The parameter-free Ladder and the Gaussian demonstration: faithful, and refused."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from research.mechanisms import free_ladder, science_demo
from research.mechanisms.free_ladder import Paired, compare, improves
from research.mechanisms.science_demo import ScienceDemo, typical
from research.noise import SeededGaussianNoise
from scoring.errors import StateError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, State, TeamState
from scoring.noise import ANSWER, COMPARISON
from tests.scoring.fixed_noise import FixedNoise

DEMO = typical(10_000)
VECTORS = json.loads((Path(__file__).parents[1] / "scoring" / "vectors.json").read_text())
NEW = State(HoldoutState(), TeamState())

Losses = NDArray[np.int64]


class FreeBoard:
    """A team on the parameter-free Ladder, whose leader's row losses are kept for it."""

    def __init__(self) -> None:
        self.state = NEW
        self.leader: Losses | None = None

    def submit(self, losses: Losses) -> Answer:
        paired = None if self.leader is None else compare(self.leader, losses)
        mean = Mean(int(losses.sum()), len(losses), 1)
        self.state, answer = free_ladder.step(self.state, mean, paired)
        if answer.kind == "improved":
            self.leader = losses
        return answer


def test_the_published_trace_of_the_parameter_free_ladder() -> None:
    trace = next(trace for trace in VECTORS["traces"] if trace["trace"] == "free_ladder")
    labels, board = np.array(trace["labels"]), FreeBoard()
    released = [
        board.submit((np.array(submission) != labels).astype(np.int64)).loss
        for submission in trace["subs"]
    ]
    assert [float(loss or 0) for loss in released] == pytest.approx(trace["released"])


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=40))
def test_the_integer_rule_is_one_standard_error_of_the_difference(
    pairs: list[tuple[int, int]],
) -> None:
    leader, losses = (np.array(column) for column in zip(*pairs, strict=True))
    differences = (losses - leader) / 10
    gap = -differences.mean() - differences.std(ddof=1) / math.sqrt(len(pairs))
    assume(abs(gap) > 1e-9)  # doubles decide ties at random
    paired = compare(leader, losses)
    assert (paired.gain > 0 and paired.gain**2 > paired.squares) == (gap > 0)


def test_one_newly_right_row_is_a_tie_and_not_an_improvement() -> None:
    leader = np.array([True, True, False, False])
    assert not improves(leader, np.array([False, True, False, False]))
    assert improves(leader, np.array([False, False, False, False]))
    assert improves(None, leader)


def test_flipping_two_predictions_at_a_time_walks_it_down() -> None:
    """theory.md 3.4: one in four pairs is accepted, and each acceptance gains two rows."""
    generator, board = np.random.default_rng(3), FreeBoard()
    labels = generator.integers(0, 2, 1000)
    guess = np.zeros(1000, dtype=np.int64)
    board.submit(np.abs(guess - labels))
    for first in range(0, 400, 2):
        tried = guess.copy()
        tried[first : first + 2] = 1
        if board.submit(np.abs(tried - labels)).kind == "improved":
            guess = tried
    assert board.state.team.best is not None
    start = int(labels.sum())
    expected = start - 2 * int((labels[:400].reshape(200, 2).sum(axis=1) == 2).sum())
    assert board.state.team.best == expected < start - 60


def test_a_later_submission_needs_its_comparison_with_the_leader() -> None:
    state = State(HoldoutState(1, 1, 2.0, 1), TeamState(best=5, last=5))
    with pytest.raises(StateError):
        free_ladder.step(state, Mean(1, 10, 1), None)
    _, answer = free_ladder.step(state, Mean(4, 10, 1), Paired(1, 1))
    assert (answer.kind, answer.certificate) == ("not_improved", None)


class FixedGaussian(FixedNoise):
    """Noise that tests choose, for the demonstration."""

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        return self.laplace(sigma, draw, index)


def demo(holdout: int, reference: int, noise: FixedGaussian) -> Answer:
    measurement = Measurement(Mean(holdout, 10_000, 1), Mean(reference, 10_000, 1))
    return science_demo.step(DEMO, NEW, measurement, noise)[1]


def test_the_demonstration_compares_and_answers_with_one_standard_deviation() -> None:
    noise = FixedGaussian({ANSWER: [250]})
    answer = demo(5000, 4000, noise)
    assert (answer.kind, answer.level, answer.steps) == ("corrected", 5250, 10_000)
    assert noise.asked == [(Fraction(100), COMPARISON, 0), (Fraction(100), ANSWER, 0)]


@pytest.mark.parametrize(
    ("holdout", "added", "kind"),
    [
        (4400, 0, "confirmed"),
        (4401, 0, "corrected"),
        (4401, 1, "confirmed"),
        (4400, -1, "corrected"),
    ],
)
def test_the_demonstration_has_no_noise_on_its_threshold(
    holdout: int, added: int, kind: str
) -> None:
    assert demo(holdout, 4000, FixedGaussian({COMPARISON: [added]})).kind == kind


def test_the_demonstration_answers_without_end_and_averaging_undoes_its_noise() -> None:
    """Why it carries no certificate: the same question again draws fresh noise, for free."""
    noise, state = SeededGaussianNoise(np.random.default_rng(0)), NEW
    measurement = Measurement(Mean(5000, 10_000, 1), Mean(3000, 10_000, 1))
    levels = []
    for _ in range(400):
        state, answer = science_demo.step(DEMO, state, measurement, noise)
        assert answer.certificate is None
        levels.append(answer.level or 0)
    assert abs(np.mean(levels) - 5000) < 4 * 100 / math.sqrt(400)


def test_the_demonstrations_parameters_are_those_of_the_papers_code() -> None:
    assert ScienceDemo(Fraction(1, 25), Fraction(1, 100)) == DEMO
    with pytest.raises(StateError):
        science_demo.step(DEMO, NEW, Measurement(Mean(1, 10, 1)), FixedGaussian())
