"""The reusable-holdout experiment: its exact law, its literal form, its boards."""

import math
from fractions import Fraction

import numpy as np
import pytest

from research.experiments.freedman import (
    SIZES,
    Accuracies,
    Curves,
    GaussianThresholdout,
    Setting,
    choose,
    play,
)
from research.experiments.freedman_figures import figure1, figure2, figure_s2
from research.experiments.freedman_mechanisms import mechanism_table
from research.experiments.freedman_samples import ExactLaw, Literal
from research.experiments.results import Result
from research.mechanisms.science_demo import step, typical
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.noise import ANSWER, COMPARISON

SMALL = Setting(rows=400, attributes=400)
PAPER = GaussianThresholdout.name


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module", params=[0, 20], ids=["no signal", "signal"])
def both_forms(request: pytest.FixtureRequest) -> tuple[Curves, Curves]:
    setting = Setting(SMALL.rows, SMALL.attributes, request.param)
    return play(setting, 300, rng(), ExactLaw), play(setting, 150, rng(6), Literal)


def test_the_literal_form_and_the_exact_law_agree(both_forms: tuple[Curves, Curves]) -> None:
    exact, literal = both_forms
    for name, samples in exact.curves.items():
        others = literal.curves[name]
        error = np.sqrt(samples.var(axis=0) / len(samples) + others.var(axis=0) / len(others))
        distance = np.abs(samples.mean(axis=0) - others.mean(axis=0))
        assert (distance[1:] <= 4 * error[1:]).all(), name
    for exact_counts, literal_counts in (
        (exact.selected, literal.selected),
        (exact.fired_attributes, literal.fired_attributes),
        (exact.fired_classifiers, literal.fired_classifiers),
    ):
        error = math.sqrt(exact_counts.var() / 300 + literal_counts.var() / 150)
        assert abs(exact_counts.mean() - literal_counts.mean()) <= 4 * error


@pytest.fixture(scope="module", params=[figure1, figure2])
def full_size(request: pytest.FixtureRequest) -> Result:
    """Few runs of the real thing."""
    result = request.param(6, 3)
    assert isinstance(result, Result)
    return result


def test_the_full_size_agrees_with_known_means(full_size: Result) -> None:
    assert full_size.largest_z is not None
    assert full_size.largest_z < 4
    assert sum(line.expected is not None for line in full_size.comparisons) > 25


def test_plain_boards_overfit_and_thresholdout_does_not(full_size: Result) -> None:
    overfitting = {str(row[0]): float(str(row[3])) for row in full_size.tables[0].rows}
    assert abs(overfitting.pop(PAPER)) < 0.03
    assert len(overfitting) == 3
    assert min(overfitting.values()) > 0.09


def test_our_mechanisms_show_what_is_true() -> None:
    table = mechanism_table(Setting(2000, 2000, 20), 3, rng(), ExactLaw)
    for name, _answers, shown, truth, _certificate, broken, _largest in table.rows:
        assert isinstance(shown, float)
        assert isinstance(truth, float)
        assert abs(shown - truth) < 0.06, name
        assert broken == 0


class Drawn:
    """Noise that is given, in units of the measurement."""

    def __init__(self, comparison: float, added: float) -> None:
        self._values = {COMPARISON: comparison, ANSWER: added}

    def gaussian(self, sigma: Fraction, draw: str, index: int) -> int:
        return round(self._values[draw])


def test_the_published_rule_is_the_one_of_the_demonstration() -> None:
    """Many questions at once give what the mechanism gives one by one, up to its grid."""
    unit, count, whole = 0.01, 500, 10**8
    train, holdout = rng(1).uniform(0.4, 0.6, (2, count))
    answers, fired = GaussianThresholdout(unit, rng(2)).answer(train, holdout)
    comparison, added = rng(2).normal(0, unit, (2, count))
    demo, state = typical(10_000), State(HoldoutState(), TeamState())
    for i in range(count):
        own, reference = [
            Mean(round(value * whole), whole // 10, 10) for value in (holdout[i], train[i])
        ]
        noise = Drawn(comparison[i] * whole, added[i] * whole)
        _, answer = step(demo, state, Measurement(own, reference), noise)
        assert (answer.kind == "corrected") == fired[i]
        assert answer.loss is not None
        assert float(answer.loss) == pytest.approx(answers[i], abs=1e-7)
    assert 0 < fired.sum() < count


def test_attributes_are_chosen_beyond_one_unit_on_the_same_side() -> None:
    train = np.array([0.3, -0.5, 0.2, 0.1, -0.4, 0.6])
    shown = np.array([0.2, -0.2, -0.2, 0.9, -0.1, 0.11])
    assert choose(train, shown, 0.1).tolist() == [5, 1, 0]


def test_no_attributes_are_a_coin_and_few_attributes_stay_few() -> None:
    sample = ExactLaw(SMALL, rng())
    none = sample.accuracies(np.array([], dtype=np.intp))
    assert none.train[0] == none.holdout[0] == none.fresh[0] == 0.5
    few = sample.accuracies(np.array([1, 2], dtype=np.intp))
    assert few.train.shape == (len(SIZES),)
    assert len(set(few.train[1:].tolist())) == 1


@pytest.mark.parametrize("draw", [ExactLaw, Literal])
def test_samples_have_the_means_of_their_setting(draw: type[ExactLaw] | type[Literal]) -> None:
    setting = Setting(400, 400, 100)
    sample = draw(setting, rng())
    z = (sample.holdout - setting.true_means()) / setting.unit
    assert abs(z.mean()) < 4 / math.sqrt(400)
    assert abs(z.std() - 1) < 4 / math.sqrt(800)
    assert isinstance(sample.accuracies(np.arange(5)), Accuracies)


def test_figure_s2_shows_the_holdouts_own_accuracy() -> None:
    result = figure_s2(4, 1, setting=SMALL)
    assert [len(panel.series) for panel in result.panels] == [3, 3]
    assert any("holdout, k=500" in line.quantity for line in result.comparisons)
