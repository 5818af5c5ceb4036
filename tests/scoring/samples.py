"""Predictions and labels of every shape that metrics take, for hypothesis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from scoring.metrics import Metric
from scoring.metrics.labels import not_negative, one_class_each, two_classes
from scoring.predictions import Column, Lists, texts
from scoring.predictions.schema import LISTS, WITH_CLASSES

Values = NDArray[Any]
Floats = st.SearchStrategy[float]

CLASSES = ("a", "b", "c", "d")
TOGETHER = 3
LONGEST = 6
EXTREME = st.floats(allow_nan=False, allow_infinity=False)
# What stands for the same choice, and has the same number.
SAID = ("B", " (B)", "The answer is B: 1,000.", "c", "C) The 7, a 1000", "", "none", "-7", "7.0")
# Numbers of a few digits: neither scikit-learn's sums nor ours lose any.
EIGHTHS = st.integers(-800, 800).map(lambda number: number / 8)
_ZERO_OR_ONE = st.sampled_from([0.0, 1.0])


def classes_of(metric: Metric) -> tuple[str, ...]:
    return CLASSES[:2] if metric.column_rule is two_classes else CLASSES


def columns_of(metric: Metric, count: int | None = None) -> tuple[Column, ...]:
    """The columns of a schema that `metric` takes."""
    kind = metric.takes[0]
    width = count or (TOGETHER if metric.columns == "together" else 1)
    classes = classes_of(metric) if kind in WITH_CLASSES else ()
    most = LONGEST if kind == "ranking" else None
    return tuple(Column(f"y{place}", kind, classes, most=most) for place in range(width))


def pairs(
    metric: Metric, numbers: Floats = EXTREME, *, most: int = 40
) -> st.SearchStrategy[tuple[Values, Values]]:
    """Predictions and labels, from one row on, with ties, constants and single classes."""
    return st.integers(1, most).flatmap(
        lambda rows: st.tuples(_predicted(metric, rows, numbers), _actual(metric, rows, numbers))
    )


def weights(rows: int) -> st.SearchStrategy[Values]:
    """Weights of rows, not all 0."""
    eighths = st.integers(0, 40).map(lambda number: number / 8)
    return arrays(np.float64, rows, elements=eighths).filter(np.any)


def perfect(metric: Metric) -> Any:
    """Labels with which a metric says something, to be predicted exactly."""
    kind = metric.takes[0]
    if kind == "text":
        return answers([["B 1", "3"], ["2"], ["(C) 7"]])
    if kind in LISTS:
        return lists([[0, 2], [1], [0, 1, 3], [2]])
    labels = np.array([0, 1, 1, 0], np.int32 if kind == "label" else np.float64)
    if metric.columns != "together":
        return labels
    return np.column_stack([labels, 1 - labels])


def lists(rows: Sequence[Sequence[int]]) -> Any:
    """The codes of each row as `Lists`."""
    codes = np.array([code for row in rows for code in row], np.int32)
    return Lists.of_lengths(np.array([len(row) for row in rows]), codes)


def rows_of(values: Any) -> list[list[int]]:
    """The inverse of `lists`."""
    bounds = zip(values.offsets[:-1], values.offsets[1:], strict=True)
    return [values.codes[start:end].tolist() for start, end in bounds]


def answers(rows: Sequence[Sequence[str]]) -> Any:
    """The answers of each row as `Lists`."""
    cells = [texts.encode(row) for row in rows]
    return Lists.of_lengths(
        np.array([len(cell) for cell in cells]), np.frombuffer(b"".join(cells), np.uint8)
    )


def _shape(metric: Metric, rows: int) -> tuple[int, ...]:
    return (rows, TOGETHER) if metric.columns == "together" else (rows,)


def _predicted(metric: Metric, rows: int, numbers: Floats) -> st.SearchStrategy[Values]:
    shape = _shape(metric, rows)
    if metric.takes[0] == "text":
        runs = st.lists(st.sampled_from(SAID), min_size=1, max_size=3)
        return st.lists(runs, min_size=rows, max_size=rows).map(answers)
    if metric.takes[0] in LISTS:
        return _lists(rows, ranked=metric.takes[0] == "ranking")
    if metric.takes[0] == "label":
        top = len(classes_of(metric)) - 1
        return arrays(np.int32, shape, elements=st.integers(0, top))
    is_share = metric.takes[0] == "probability"
    return arrays(np.float64, shape, elements=st.floats(0, 1) if is_share else numbers)


def _actual(metric: Metric, rows: int, numbers: Floats) -> st.SearchStrategy[Values]:
    if metric.takes[0] in LISTS:
        return _lists(rows, ranked=False)
    if metric.label_rule is one_class_each:
        codes = arrays(np.int32, rows, elements=st.integers(0, TOGETHER - 1))
        return codes.map(lambda of: np.eye(TOGETHER)[of])
    if metric.label_rule is not_negative:
        return arrays(np.float64, rows, elements=numbers.map(abs))
    if metric.takes[0] == "probability":
        return arrays(np.float64, _shape(metric, rows), elements=_ZERO_OR_ONE)
    return _predicted(metric, rows, numbers)


def _lists(rows: int, *, ranked: bool) -> st.SearchStrategy[Values]:
    """Rankings with classes named twice, or sets in ascending order."""
    codes = st.lists(st.integers(0, len(CLASSES) - 1), min_size=int(ranked), max_size=LONGEST)
    cells = codes if ranked else codes.map(lambda row: sorted(set(row)))
    return st.lists(cells, min_size=rows, max_size=rows).map(lists)
