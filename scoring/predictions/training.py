"""The labels that a training file shows: what defaults are computed from."""

from array import array
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
from scoring.predictions.schema import Schema
from scoring.predictions.source import Source, check_utf8, read_text
from scoring.predictions.tokens import read_header, records

MOST_ROWS = 200_000


def read_labels(
    source: Source, schema: Schema, limits: Limits = DEFAULT_LIMITS
) -> list[NDArray[Any]]:
    """Return the labels of each column to predict, of the first rows of another table.

    They are encoded like a solution's. Rows with a cell that is no label are left out. Raise
    SolutionError where a column is missing, no row is whole, or a column holds lists.
    """
    problems = Problems(SolutionError)
    text = read_text(source, limits, problems, schema.separators)
    check_utf8(text, problems)
    header = read_header(text, problems)
    names = [column.name for column in schema.columns]
    if not set(names) <= set(header.cells) or any(column.is_list for column in schema.columns):
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
