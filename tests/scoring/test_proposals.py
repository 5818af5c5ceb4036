"""Defaults from data: what is proposed, and from which labels it is."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring import metrics
from scoring.guarantees.planner import find_remedy, rehearse
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.fitness import highest_rung
from scoring.mechanisms.needs import Need
from scoring.predictions import Column, Schema
from scoring.proposals import (
    Size,
    Suggestion,
    best_constant,
    choose_mechanism,
    propose,
    sampling_error,
    share_cut,
)

NUMBER = Schema("id", (Column("y", "number"),))
CHANCE = Schema("id", (Column("y", "probability"),))
LABEL = Schema("id", (Column("y", "label", ("a", "b", "c")),))
CLASS_OF_60 = Size(teams=60, submissions=100, private=2000, public=2000)
WITHOUT_PUBLIC = Size(teams=60, submissions=100, private=2000, public=0)


def delays(rows: int = 3000) -> NDArray[np.float64]:
    """Draw delays in minutes: most small, some of hours."""
    return np.random.default_rng(1).gamma(1.2, 20, rows) - 5


def coins(chance: float, rows: int = 3000) -> NDArray[np.float64]:
    return (np.random.default_rng(1).random(rows) < chance).astype(np.float64)


def proposed(
    metric: str, schema: Schema, labels: NDArray[np.float64] | None, size: Size = CLASS_OF_60
) -> dict[str, Suggestion]:
    training = None if labels is None else [labels]
    found = propose(metrics.get(metric), {}, schema, size, training=training)
    return {each.field.rpartition(".")[2]: each for each in found}


@pytest.mark.parametrize("metric", ["mae", "mse", "rmse", "pinball", "median_absolute_error"])
def test_a_clip_leaves_nearly_all_errors_of_a_constant_whole(metric: str) -> None:
    clip = Fraction(proposed(metric, NUMBER, delays())["clip"].value)
    labels = delays()
    errors = np.abs(labels - np.median(labels))
    assert (errors > clip).mean() <= 0.02
    assert clip <= 2 * np.quantile(errors, 0.98)


def test_a_relative_error_has_its_own_clip() -> None:
    assert Fraction(proposed("mape", NUMBER, delays() + 20)["clip"].value) <= 5


def test_the_default_clip_of_minutes_cuts_nearly_everything() -> None:
    metric = metrics.get("mae")
    cut = share_cut(metric, metric.parse({}), NUMBER, [delays()])
    assert cut is not None
    assert cut > 0.9


@pytest.mark.parametrize(
    ("metric", "schema", "labels"),
    [("mae", NUMBER, delays()), ("log_loss", CHANCE, coins(0.2)), ("brier", CHANCE, coins(0.5))],
)
def test_a_step_is_finer_than_a_sampling_error_and_round_in_units_of_the_score(
    metric: str, schema: Schema, labels: NDArray[np.float64]
) -> None:
    found, chosen = proposed(metric, schema, labels), metrics.get(metric)
    raw = {"clip": found["clip"].value} if "clip" in found else {}
    params = chosen.parse(raw)
    constant = best_constant(chosen, params, schema, [labels])
    assert 1 / int(found["steps"].value) <= sampling_error(constant, 2000)


def test_a_step_of_minutes_is_a_round_number_of_minutes() -> None:
    found = proposed("mae", NUMBER, delays())
    step = Fraction(found["clip"].value) / int(found["steps"].value)
    assert step == Fraction(1, 5)


def test_without_labels_steps_are_those_of_the_largest_sampling_error() -> None:
    assert proposed("accuracy", LABEL, None)["steps"].value == "100"


@pytest.mark.parametrize(
    ("metric", "size", "mechanism"),
    [
        ("accuracy", CLASS_OF_60, "guard"),
        ("rmse", CLASS_OF_60, "guard"),
        ("accuracy", WITHOUT_PUBLIC, "ladder"),
        ("accuracy", Size(60, 100), "guard"),
        ("roc_auc", CLASS_OF_60, "ladder"),
        ("kappa", CLASS_OF_60, "ladder"),
    ],
)
def test_guard_is_proposed_where_it_fits(metric: str, size: Size, mechanism: str) -> None:
    assert choose_mechanism(metrics.get(metric), size).name == mechanism


@pytest.mark.parametrize("metric", [name for name, each in metrics.METRICS.items() if each.is_mean])
@pytest.mark.parametrize("size", [CLASS_OF_60, WITHOUT_PUBLIC])
def test_what_is_proposed_fits_metric_and_rows(metric: str, size: Size) -> None:
    chosen = metrics.get(metric)
    found = propose(chosen, {}, NUMBER, size)
    given = {each.field: each.value for each in found}
    mechanism = MECHANISMS[given["mechanism"]]
    raw = {
        name.partition(".")[2]: value
        for name, value in given.items()
        if name.startswith("mechanism_parameters.")
    }
    public = size.public or 0
    need = Need(rows=2000 + public, public=public, teams=60, submissions=100)
    mechanism.check(mechanism.parse(raw), chosen, need.counts)


def test_the_rung_is_three_errors_beyond_the_best_constant() -> None:
    labels = np.zeros(1000, dtype=np.int32)
    labels[:400] = 1
    found = propose(metrics.get("accuracy"), {}, LABEL, WITHOUT_PUBLIC, training=[labels])
    given = {each.field: each.value for each in found}
    steps = int(given["mechanism_parameters.steps"])
    rung = highest_rung(steps, Fraction(2, 5), 2000, 1000)
    assert given["mechanism_parameters.rung"] == str(rung)


def test_a_rung_by_public_rows_is_measured_on_them() -> None:
    training, public = np.zeros(1000, dtype=np.int32), np.ones(500, dtype=np.int32)
    known = {"training": [training], "public": [public]}
    found = propose(metrics.get("accuracy"), {}, LABEL, WITHOUT_PUBLIC, **known)
    rung = next(each for each in found if each.field.endswith("rung"))
    assert "reaches 0;" in rung.reason


def test_the_question_limit_is_teams_times_quota_times_boards() -> None:
    size = Size(teams=10, submissions=30, boards=2)
    assert proposed("accuracy", LABEL, None, size)["question_limit"].value == "600"


def test_lists_are_proposed_for_without_labels() -> None:
    schema = Schema("id", (Column("y", "labels", ("a", "b")),))
    assert "steps" in proposed("labels_f1", schema, None)


def test_a_class_of_60_keeps_a_guarantee_with_guard_and_none_with_a_fine_ladder() -> None:
    need = Need(rows=4000, public=2000, teams=60, submissions=100)
    guard = rehearse(need, "guard", ())
    assert guard.half_width is not None
    assert guard.half_width < 0.13
    ladder = rehearse(need, "ladder", (("steps", "170"),))
    assert ladder.half_width is None


def test_what_would_help_a_board_that_promises_nothing_does() -> None:
    need, asked = Need(rows=46, public=22, final=0, teams=62, submissions=100), (("steps", "30"),)
    remedy = find_remedy(need, "guard", asked)
    assert remedy.times is not None
    more = replace(need, rows=46 * remedy.times, public=22 * remedy.times)
    now, then = rehearse(need, "guard", asked), rehearse(more, "guard", asked)
    assert now.half_width is None
    assert then.half_width is not None
