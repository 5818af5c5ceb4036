"""Prediction, sample and solution files: from bytes to arrays aligned with the row ids.

    schema = Schema("id", (Column("label", "label", ("cat", "dog")),))
    row_ids = read_row_ids(sample, schema)
    solution = read_solution(file, schema, row_ids)          # raises SolutionError
    predictions = read_predictions(upload, schema, row_ids)  # raises PredictionError

Parsing sees ids and the declared columns, never labels: nothing in a message depends on them or on
the split that a row is in. `REJECTIONS` lists every code.
"""

from scoring.predictions.guesses import Guess, Guessed, Proposal
from scoring.predictions.limits import Limits
from scoring.predictions.lists import Lists
from scoring.predictions.reader import Predictions, read_predictions
from scoring.predictions.row_ids import RowIds
from scoring.predictions.sample import (
    Preview,
    preview,
    propose,
    propose_with,
    read_row_ids,
)
from scoring.predictions.schema import Column, Schema
from scoring.predictions.solution import Counts, Solution, Usage, read_solution
from scoring.predictions.training import read_labels
from scoring.wording import REJECTIONS

__all__ = [
    "REJECTIONS",
    "Column",
    "Counts",
    "Guess",
    "Guessed",
    "Limits",
    "Lists",
    "Predictions",
    "Preview",
    "Proposal",
    "RowIds",
    "Schema",
    "Solution",
    "Usage",
    "preview",
    "propose",
    "propose_with",
    "read_labels",
    "read_predictions",
    "read_row_ids",
    "read_solution",
]
