"""Rules that a solution's labels and a schema's columns have to keep, shared by metrics.

A rule of labels returns what is wrong, and the first wrong row if there is one to name.
"""

import numpy as np

from scoring.metrics.base import Values
from scoring.predictions.schema import Column

Wrong = tuple[str, int | None]


def only_zero_and_one(labels: Values) -> Wrong | None:
    """Allow what happened (1) or didn't (0)."""
    return _first((labels != 0) & (labels != 1), labels, "labels are 0 or 1; {:g} is among them.")


def both_zero_and_one(labels: Values) -> Wrong | None:
    """Require rows of both kinds, to compare the one with the other."""
    says = f"all labels are {labels[0]:g}, so every file would get the same score."
    return only_zero_and_one(labels) or ((says, None) if np.all(labels == labels[0]) else None)


def some_one(labels: Values) -> Wrong | None:
    """Require a row with label 1 to be found."""
    says = "no label is 1, so every file would get the same score."
    return only_zero_and_one(labels) or ((says, None) if not np.any(labels == 1) else None)


def one_class_each(labels: Values) -> Wrong | None:
    """Require a 1 in one column, that of the class, and 0 in the others."""
    says = "a row has one 1, in the column of its class, and 0 in all others."
    return only_zero_and_one(labels) or _first(labels.sum(axis=1) != 1, labels, says)


def both_in_each_column(labels: Values) -> Wrong | None:
    """Require rows of both kinds in each column, for means over columns."""
    says = "a column has the same label in all rows, so it would score the same in every file."
    same = np.any(np.all(labels == labels[0], axis=0))
    return only_zero_and_one(labels) or ((says, None) if same else None)


def not_negative(labels: Values) -> Wrong | None:
    """Require logarithms of 1 + label."""
    return _first(labels < 0, labels, "labels are 0 or more; one is less.")


def not_zero(labels: Values) -> Wrong | None:
    """Require labels that an error can be relative to."""
    says = "a label is 0, and no error is a share of 0. SMAPE takes such labels."
    return _first(labels == 0, labels, says)


def not_all_equal(labels: Values) -> Wrong | None:
    """Require labels that vary."""
    if np.all(labels == labels[0]):
        return "all labels are equal, so the metric has nothing to compare with.", None
    return None


def two_classes(columns: tuple[Column, ...]) -> str | None:
    """Require two classes, for metrics of one class, found or not found."""
    for column in columns:
        if column.kind == "label" and len(column.classes) != 2:
            return (
                f"it needs two classes, and `{column.name}` has {len(column.classes)}. The last "
                "one counts as positive."
            )
    return None


def _first(wrong: Values, labels: Values, says: str) -> Wrong | None:
    """Return the first wrong row, with its label filled in."""
    found = np.argwhere(wrong)
    if not len(found):
        return None
    return says.format(labels[tuple(found[0])]), int(found[0][0])
