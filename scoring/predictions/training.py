"""The labels that a training file shows: what defaults are computed from."""

from array import array
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import Problem, SolutionError
from scoring.predictions.cells import CellError
from scoring.predictions.exact import Field
from scoring.predictions.header import columns_shown
from scoring.predictions.limits import DEFAULT_LIMITS, Limits
from scoring.predictions.problems import Problems
from scoring.predictions.schema import Column, Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import read_header, records

MOST_ROWS = 200_000


def read_labels(
    source: Source,
    schema: Schema,
    limits: Limits = DEFAULT_LIMITS,
    *,
    label: Column | None = None,
) -> list[NDArray[Any]]:
    """Return the labels of each column to predict, of the first rows of another table.

    They are encoded like a solution's. Rows with a cell that is no label are left out. label: the
    table's column that names the class of which the schema has the probabilities. Raise
    SolutionError where a column is missing, no row is whole, or a column holds lists.
    """
    if label is not None:
        of_label = Schema(schema.id_column, (label,))
        return one_hot(read_labels(source, of_label, limits)[0], len(schema.columns))
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    check_utf8(text, problems)
    header = read_header(text, problems)
    names = [column.name for column in schema.columns]
    if not set(names) <= set(header.cells) or not all(each.is_plain for each in schema.columns):
        fields = columns_shown(names)
        problems.fail(Problem("missing_column", variant="other", line=header.line, **fields))
    wanted = [(header.cells.index(field.name), field) for field in map(Field.of, schema.columns)]
    columns: list[array[Any]] = [array(field.code) for _, field in wanted]
    for _, cells in islice(records(text, problems), 1, MOST_ROWS + 1):
        try:
            values = [field.parse(cells[place]) for place, field in wanted]
        except (CellError, IndexError):
            continue
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    if not columns[0]:
        problems.fail(Problem("file_empty"))
    return [np.array(column) for column in columns]


def match_classes(columns: Sequence[str], cells: Collection[str]) -> tuple[str, ...] | None:
    """Return the class of each column, where their names are classes behind a common beginning.

    cells: what a column of labels holds. None where columns and classes are not the same.
    """
    classes = {cell for cell in cells if cell.strip()}
    if len(columns) < 2 or len(classes) != len(columns):
        return None
    letters = enumerate(zip(*columns, strict=False))
    differ = (at for at, column in letters if len(set(column)) > 1)
    for length in range(next(differ, min(map(len, columns))), -1, -1):
        names = tuple(name[length:] for name in columns)
        if set(names) == classes:
            return names
    return None


def one_hot(codes: NDArray[Any], columns: int) -> list[NDArray[np.float64]]:
    """Return labels as what happened: 0 or 1 for each class, or for the second of two alone."""
    classes = range(columns) if columns > 1 else (1,)
    return [(codes == each).astype(np.float64) for each in classes]
