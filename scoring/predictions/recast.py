"""The same labels in another split, or as the probabilities of their classes."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scoring.errors import SolutionError
from scoring.predictions.problems import Problems
from scoring.predictions.schema import Schema
from scoring.predictions.solution import Solution, Usage, check_weights
from scoring.predictions.training import one_hot


def with_split(
    solution: Solution, usage: NDArray[np.int8], groups: NDArray[np.int64] | None
) -> Solution:
    """Return a solution whose rows are in these sets and groups.

    Raise SolutionError where a set gets rows without any weight.
    """
    if solution.weights is not None:
        check_weights(solution.weights, usage, Problems(SolutionError))
    return replace(solution, usage=usage.astype(np.int8), groups=groups)


def as_probabilities(solution: Solution, schema: Schema) -> Solution:
    """Return the labels of the only column as what happened, 0 or 1, in the schema's columns.

    Ignored rows may have no label: there nothing happened.
    """
    (codes,) = solution.columns.values()
    happened = one_hot(codes, len(schema.columns))
    for values in happened:
        values[(codes < 0) & (solution.usage == Usage.IGNORED)] = np.nan
    names = (column.name for column in schema.columns)
    return replace(solution, schema=schema, columns=dict(zip(names, happened, strict=True)))


def as_labels(solution: Solution, schema: Schema) -> Solution:
    """Invert `as_probabilities`: return the labels of which there are probabilities."""
    happened = list(solution.columns.values())
    absent = np.isnan(happened[0])
    if len(happened) > 1:
        codes = np.argmax(np.nan_to_num(np.stack(happened, axis=1)), axis=1).astype(np.int32)
    else:
        codes = np.nan_to_num(happened[0]).astype(np.int32)
    codes[absent] = -1
    (column,) = schema.columns
    return replace(solution, schema=schema, columns={column.name: codes})
