"""Sketches of prediction files: near for near files, whatever kind their columns are."""

import numpy as np
import pytest

from scoring.predictions import Column, Lists, Predictions, RowIds, Schema, read_row_ids
from scoring.predictions.sketch import CELLS, find_near, sketch

ROWS = 200_000
RNG = np.random.default_rng(7)


def _ids(rows: int) -> RowIds:
    lines = "id,x\n" + "".join(f"r{row},0\n" for row in range(rows))
    return read_row_ids(lines.encode(), Schema("id", (Column("x", "number"),)))


def _of(column: Column, values: object, rows: int) -> Predictions:
    return Predictions(Schema("id", (column,)), {column.name: values}, _ids(rows))


def _distance(first: Predictions, second: Predictions) -> float:
    return float(np.linalg.norm(sketch(first) - sketch(second)))


def test_the_same_predictions_have_the_same_sketch() -> None:
    column, values = Column("x", "number"), RNG.normal(size=500)
    first, second = (_of(column, values.copy(), 500) for _ in range(2))
    assert _distance(first, second) == 0
    assert sketch(first).shape == (CELLS,)


def test_the_distance_of_numbers_is_estimated() -> None:
    column, rows = Column("x", "number"), 100_000
    base = RNG.normal(size=rows)
    step = 0.1 * RNG.normal(size=rows)
    found = _distance(_of(column, base.copy(), rows), _of(column, base + step, rows))
    assert found == pytest.approx(np.linalg.norm(step), rel=0.4)


def test_each_differing_label_counts_as_two_however_far_its_code() -> None:
    column, rows = Column("x", "label", tuple("abcdefgh")), 4000
    base = RNG.integers(0, 8, rows).astype(np.int32)
    changed = base.copy()
    changed[:400] = (changed[:400] + 3) % 8
    found = _distance(_of(column, base, rows), _of(column, changed, rows))
    assert found == pytest.approx(np.sqrt(2 * 400), rel=0.4)


@pytest.mark.parametrize("kind", ["labels", "ranking"])
def test_lists_are_sketched(kind: str) -> None:
    column = Column("x", "labels", ("a", "b", "c"))
    codes = np.array([0, 1, 2, 0], np.int32)
    first = _of(column, Lists(np.array([0, 2, 2, 4]), codes.copy()), 3)
    second = _of(column, Lists(np.array([0, 2, 3, 4]), codes.copy()), 3)
    assert _distance(first, second) > 0
    assert np.isfinite(sketch(first)).all()


def test_huge_values_stay_finite() -> None:
    column = Column("x", "number")
    values = np.array([1e300, -1e300, 0.0])
    assert np.isfinite(sketch(_of(column, values, 3))).all()


def test_what_lies_near_is_found_the_nearest_first() -> None:
    points = RNG.normal(size=(30, CELLS)).astype(np.float32)
    points[5] = points[3]
    points[9] = points[8] + 0.05
    found = find_near(points, 0.2)
    assert [(first, second) for first, second, _ in found] == [(3, 5), (8, 9)]
    assert found[0][2] == pytest.approx(0, abs=1e-3)


def test_fewer_than_three_files_have_no_usual_distance() -> None:
    assert find_near(np.zeros((2, CELLS), np.float32), 0.2) == []
    assert find_near(np.zeros((5, CELLS), np.float32), 0.2) == []
