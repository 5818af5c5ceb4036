"""Rules that a solution's labels and a schema's columns have to keep, shared by metrics."""

import numpy as np

from scoring.metrics.base import Values
from scoring.predictions.schema import Column


def only_zero_and_one(labels: Values) -> str | None:
    """For metrics of what happened (1) or didn't (0)."""
    wrong = labels[(labels != 0) & (labels != 1)]
    return f"labels are 0 or 1; {wrong[0]:g} is among them." if len(wrong) else None


def both_zero_and_one(labels: Values) -> str | None:
    """For metrics that compare the rows of the one kind with those of the other."""
    wrong = only_zero_and_one(labels)
    if wrong is None and np.all(labels == labels[0]):
        return f"all labels are {labels[0]:g}, so every file would get the same score."
    return wrong


def some_one(labels: Values) -> str | None:
    """For metrics of how the rows with label 1 are found."""
    wrong = only_zero_and_one(labels)
    if wrong is None and not np.any(labels == 1):
        return "no label is 1, so every file would get the same score."
    return wrong


def one_class_each(labels: Values) -> str | None:
    """For a column for each class: every row has a 1 in one of them."""
    wrong = only_zero_and_one(labels)
    if wrong is None and np.any(labels.sum(axis=1) != 1):
        return "a row has one 1, in the column of its class, and 0 in all others."
    return wrong


def both_in_each_column(labels: Values) -> str | None:
    """For means over columns of metrics that need rows of both kinds."""
    wrong = only_zero_and_one(labels)
    if wrong is None and np.any(np.all(labels == labels[0], axis=0)):
        return "a column has the same label in all rows, so it would score the same in every file."
    return wrong


def not_negative(labels: Values) -> str | None:
    """For logarithms of 1 + value."""
    return "labels are 0 or more; one is less." if np.any(labels < 0) else None


def not_zero(labels: Values) -> str | None:
    """For errors relative to the label."""
    if np.any(labels == 0):
        return "a label is 0, and no error is a share of 0. SMAPE takes such labels."
    return None


def not_all_equal(labels: Values) -> str | None:
    """For metrics relative to how much the labels vary."""
    if np.all(labels == labels[0]):
        return "all labels are equal, so the metric has nothing to compare with."
    return None


def two_classes(columns: tuple[Column, ...]) -> str | None:
    """For metrics of one class, found or not found."""
    for column in columns:
        if column.kind == "label" and len(column.classes) != 2:
            return (
                f"it needs two classes, and `{column.name}` has {len(column.classes)}. The last "
                "one counts as positive."
            )
    return None
