"""Rules that a solution's labels have to keep, shared by metrics."""

import numpy as np

from scoring.metrics.base import Values
from scoring.predictions.schema import Column


def only_zero_and_one(labels: Values, column: Column) -> str | None:
    """For metrics of what happened (1) or didn't (0)."""
    wrong = labels[(labels != 0) & (labels != 1)]
    return f"labels are 0 or 1; {wrong[0]:g} is among them." if len(wrong) else None


def both_zero_and_one(labels: Values, column: Column) -> str | None:
    """For metrics that compare the rows of the one kind with those of the other."""
    wrong = only_zero_and_one(labels, column)
    if wrong is None and np.all(labels == labels[0]):
        return f"all labels are {labels[0]:g}, so every file would get the same score."
    return wrong
