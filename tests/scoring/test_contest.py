"""Final entries compared row by row: what is counted, and that predictions decide where."""

import pickle
from typing import Any

import numpy as np
import pytest

from scoring import metrics
from scoring.contest import Contest
from scoring.errors import StateError
from scoring.guarantees.rank_sets import Rows, rank_entries
from scoring.measuring import final_mask, measure_final
from scoring.predictions import Column, Lists, Predictions, RowIds, Schema, Solution, Usage
from scoring.predictions.codes import row_codes

ROWS = 600
IDS = RowIds(f"r{row}" for row in range(ROWS))
LABEL = Schema("id", (Column("y", "label", ("a", "b")),))
THREE = Schema("id", (Column("y", "label", ("a", "b", "c")),))
NUMBER = Schema("id", (Column("y", "number"),))


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def usage(final: bool) -> Any:
    """A third of the rows Public, a third Private, a third Final if there are any."""
    kinds = np.array([Usage.PUBLIC, Usage.PRIVATE, Usage.FINAL if final else Usage.PRIVATE])
    return np.resize(kinds, ROWS).astype(np.int8)


def solved(schema: Schema, values: Any, *, final: bool = True, weights: Any = None) -> Solution:
    return Solution(schema, {"y": values}, usage(final), IDS.digest, weights, row_ids=IDS)


def guess(schema: Schema, values: Any) -> Predictions:
    return Predictions(schema, {"y": values}, IDS)


def labels(classes: int, entries: int = 4) -> tuple[Any, list[Any]]:
    """True labels, and entries that err the more often the later they come."""
    random = rng()
    truth = random.integers(0, classes, ROWS).astype(np.int32)
    wrong = [random.random(ROWS) < 0.1 + 0.2 * place for place in range(entries)]
    return truth, [((truth + each) % classes).astype(np.int32) for each in wrong]


def rank(metric: str, solution: Solution, entries: list[Any], **settings: Any) -> Any:
    parameters = metrics.get(metric).parse(settings)
    contest = Contest(metrics.get(metric), parameters, solution, len(entries))
    for place, values in enumerate(entries):
        contest.take(place, guess(solution.schema, values))
    return contest.rank(0.025)


@pytest.mark.parametrize("final", [True, False])
def test_two_classes_are_compared_where_predictions_differ(final: bool) -> None:
    truth, entries = labels(2)
    found = rank("accuracy", solved(LABEL, truth, final=final), entries)
    rows = usage(final) == (Usage.FINAL if final else Usage.PRIVATE)
    losses = np.array([each[rows] != truth[rows] for each in entries])
    codes = np.array([each[rows] for each in entries])
    expected = rank_entries(losses, codes, Rows(two_classes=True), units=1, level=0.025)
    assert found.form == "binomial"
    assert found.to_json() == expected.to_json()
    assert found.rejected


@pytest.mark.parametrize("metric", ["accuracy", "jaccard_micro"])
def test_with_three_classes_they_are_bets(metric: str) -> None:
    truth, entries = labels(3)
    assert rank(metric, solved(THREE, truth), entries).form == "betting"


def test_numbers_are_bet_on_in_the_units_in_which_they_are_counted() -> None:
    random = rng()
    truth = random.random(ROWS)
    entries = [truth + random.normal(0, 0.1 + 0.1 * place, ROWS) for place in range(4)]
    solution = solved(NUMBER, truth)
    found = rank("mae", solution, entries)
    rows = final_mask(solution)
    losses = np.rint([np.minimum(np.abs(each - truth), 1)[rows] * 10**6 for each in entries])
    zeros = np.zeros(losses.shape, np.int8)
    expected = rank_entries(losses, zeros, Rows(), units=10**6, level=0.025)
    assert found.to_json() == expected.to_json()
    assert found.rejected


def test_weights_stake_what_the_rows_weigh_on_which_predictions_differ() -> None:
    truth, entries = labels(2)
    weights = rng().integers(1, 4, ROWS).astype(np.float64)
    solution = solved(LABEL, truth, weights=weights)
    found = rank("accuracy", solution, entries)
    rows = final_mask(solution)
    losses = np.array([each[rows] != truth[rows] for each in entries])
    codes = np.array([each[rows] for each in entries])
    expected = rank_entries(losses, codes, Rows(weights=weights[rows]), units=1, level=0.025)
    assert found.form == "betting"
    assert found.to_json() == expected.to_json()


@pytest.mark.parametrize("metric", ["accuracy", "mae", "mse", "rmse", "log_loss"])
def test_counted_rows_add_up_to_what_is_measured(metric: str) -> None:
    kind = metrics.get(metric).takes[0]
    random = rng()
    if kind == "label":
        schema, truth, guessed = LABEL, *(random.integers(0, 2, (2, ROWS)).astype(np.int32))
    else:
        schema = Schema("id", (Column("y", kind),))
        truth, guessed = random.integers(0, 2, ROWS).astype(np.float64), random.random(ROWS)
    solution = solved(schema, truth)
    chosen = metrics.get(metric)
    parameters = chosen.parse({})
    rows = chosen.count_rows(guess(schema, guessed), solution, final_mask(solution), parameters)
    mean = measure_final(chosen, parameters, guess(schema, guessed), solution)
    assert (int(rows.sum(dtype=np.int64)), len(rows)) == (mean.units, mean.rows)
    assert rows.dtype.itemsize <= 4


def test_a_metric_of_all_rows_together_has_no_losses_of_rows() -> None:
    truth, entries = labels(2)
    with pytest.raises(StateError):
        rank("f1_macro", solved(LABEL, truth), entries)


def test_a_contest_shows_no_loss() -> None:
    truth, _ = labels(2)
    contest = Contest(metrics.get("accuracy"), {}, solved(LABEL, truth), 2)
    assert repr(contest) == "<Contest: not shown>"
    with pytest.raises(TypeError):
        pickle.dumps(contest)


def codes(columns: list[Any]) -> Any:
    """The codes of all rows of a file with these columns."""
    rows = len(columns[0])
    described = (
        Column(f"y{place}", "labels", ("a", "b", "c"))
        if isinstance(each, Lists)
        else Column(f"y{place}", "number")
        for place, each in enumerate(columns)
    )
    schema = Schema("id", tuple(described))
    ids = RowIds(map(str, range(rows)))
    values = {f"y{place}": each for place, each in enumerate(columns)}
    return row_codes(Predictions(schema, values, ids), np.ones(rows, np.bool_))


def test_codes_differ_exactly_where_predictions_do() -> None:
    random = rng()
    first = [random.integers(0, 3, 500) / 2.0 for _ in range(3)]
    second = [random.integers(0, 3, 500) / 2.0 for _ in range(3)]
    differ = np.any(np.array(first) != np.array(second), axis=0)
    assert 0 < differ.sum() < 500
    assert ((codes(first) != codes(second)) == differ).all()
    assert (codes([first[0], first[1]]) != codes([first[1], first[0]])).any()
    assert (codes([np.array([0.0])]) == codes([np.array([-0.0])])).all()


def test_codes_of_lists_see_length_and_order() -> None:
    def of(rows: list[list[int]]) -> Any:
        lengths = np.array([len(row) for row in rows])
        flat = np.array([code for row in rows for code in row], np.int32)
        return codes([Lists.of_lengths(lengths, flat)])

    first = of([[], [0], [0, 1], [0, 1], [2], [0, 1, 2]])
    second = of([[0], [0], [1, 0], [0, 1], [1], [0, 1]])
    assert (first != second).tolist() == [True, False, True, False, True, True]
