"""What predictions are, and the metric that judges them, by training labels and the sample."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring import metrics
from scoring.dropped.questions import Question
from scoring.dropped.roles import Sheet
from scoring.errors import ParameterError
from scoring.parameters import show
from scoring.predictions import Column, Schema
from scoring.predictions.guesses import MOST_CLASSES, guess
from scoring.predictions.schema import Kind
from scoring.predictions.training import match_classes
from scoring.proposals import Constant

MOST_LABELS: Final = 20  # different whole numbers that are still classes
RARE: Final = 0.2  # of two classes: below it accuracy praises who always says the other
# The first that fits the columns is proposed.
_METRICS: Final[dict[Kind, tuple[str, ...]]] = {
    "label": ("accuracy", "hamming"),
    "probability": ("log_loss",),
    "number": ("mae",),
    "labels": ("labels_f1",),
    "ranking": ("map_at_k",),
}
_WHY: Final[dict[Kind, str]] = {
    "label": "Predictions are classes. Everybody reads the share that is right, and its guarantee "
    "is narrow.",
    "probability": "Predictions are probabilities, and log loss rewards honest ones.",
    "number": "Predictions are numbers. The mean absolute error is in their own units, and a few "
    "bad rows don't decide it.",
    "labels": "Predictions are sets of labels. F1 of each row weighs what is missing and what is "
    "too much alike.",
    "ranking": "Predictions are rankings: what is relevant should come first.",
}
_Counts = Mapping[str, int]


@dataclass(frozen=True)
class Target:
    """What a prediction is, and by which metric it is judged.

    label: the column of solution and training data, where predictions have probabilities of its
        classes; None where all have the same columns.
    """

    schema: Schema
    metric: str
    reasons: Mapping[str, str]
    label: Column | None = None

    @property
    def solution_schema(self) -> Schema:
        """Return the columns of the solution's file."""
        return Schema(self.schema.id_column, (self.label,)) if self.label else self.schema

    @property
    def as_probability(self) -> "Target | None":
        """Return the same question, asked for probabilities; None unless it is one label."""
        columns = self.schema.columns
        if self.label is not None or len(columns) != 1 or columns[0].kind != "label":
            return None
        (label,) = columns
        names = (label.name,) if len(label.classes) == 2 else label.classes
        try:
            wide = tuple(Column(name, "probability") for name in names)
            schema = Schema(self.schema.id_column, wide)
        except ParameterError:  # a class that can't be a column's name
            return None
        return replace(self, schema=schema, metric=_choose(schema, together=True), label=label)


def propose_target(question: Question, train: Sheet | None, sample: Sheet | None) -> Target:
    """Return the target. Raise ParameterError where no metric fits."""
    reasons = dict(question.reasons)
    if question.columns != question.labels:
        assert train is not None  # noqa: S101  (classes are matched with training data)
        (name,) = question.labels
        classes = match_classes(question.columns, _count(train, name))
        assert classes is not None  # noqa: S101  (so they were matched)
        wide = tuple(Column(each, "probability") for each in question.columns)
        schema = Schema(question.id_column, wide)
        reasons["columns"] += f" They are the classes of “{name}”."
        label = Column(name, "label", classes)
        return _judged(Target(schema, "", reasons, label), together=True)
    known = train if train is not None and set(question.columns) <= set(train.header) else None
    found = [
        _column(name, _count(sample, name) if sample else {}, _count(known, name) if known else {})
        for name in question.columns
    ]
    schema = Schema(question.id_column, tuple(column for column, _ in found))
    of_two = found[0][1]
    if of_two is not None and len(found) == 1:
        reasons["columns"] += f" A prediction is the probability of “{of_two.classes[1]}”."
        return _judged(Target(schema, "", reasons, of_two))
    target = _judged(Target(schema, "", reasons))
    asked = target.as_probability
    if (
        sample is None
        and known is not None
        and asked is not None
        and len(asked.schema.columns) == 1
    ):
        counts = list(_count(known, question.columns[0]).values())
        if (rarest := min(counts) / sum(counts)) < RARE:
            why = (
                f"Only {100 * rarest:.0f} % of the training rows are of the rarer class: accuracy "
                f"would praise whoever always says the other. {_WHY['probability']}"
            )
            return replace(asked, reasons=reasons | {"metric": why})
    return target


def write_constant(schema: Schema, constant: Constant) -> tuple[str, ...]:
    """Return a constant prediction as the cells of a file."""
    values = zip(schema.columns, constant.values, strict=True)
    return tuple(
        each.classes[int(value)] if each.kind == "label" else show(Fraction(f"{value:.4g}"))
        for each, value in values
    )


def _count(sheet: Sheet, name: str) -> _Counts:
    """Return how often a column has each cell that is not empty."""
    counted = pc.value_counts(sheet.cells([name])[name].combine_chunks())
    pairs = zip(counted.field("values"), counted.field("counts"), strict=True)
    return {text: n.as_py() for value, n in pairs if (text := value.as_py()).strip()}


def _column(name: str, predicted: _Counts, labels: _Counts) -> tuple[Column, Column | None]:
    """Return what a column is, and its labels where it has the probability of one of two.

    predicted, labels: cells of the sample submission and of the training data.
    """
    if not labels:
        return guess(name, list(predicted)[: MOST_CLASSES + 1]).column, None
    numbers, shares = _numbers(labels), _numbers(predicted)
    is_fraction = shares is not None and bool(np.any(shares != np.round(shares)))
    if numbers is None:
        texts = list(labels)[: MOST_CLASSES + 1]
        if is_fraction and len(labels) == 2:
            return Column(name, "probability"), Column(name, "label", tuple(sorted(labels)))
        return guess(name, list(predicted)[: MOST_CLASSES + 1], texts).column, None
    if is_fraction:
        return Column(name, "probability" if set(numbers) <= {0.0, 1.0} else "number"), None
    is_whole = bool(np.all(numbers == np.round(numbers)))
    few = 2 <= len(labels) <= MOST_LABELS and np.ptp(numbers) <= 10 * len(labels)
    written = all(text.removeprefix("-").isdigit() for text in labels)
    if is_whole and few and written:
        return Column(name, "label", tuple(sorted(labels, key=int))), None
    return Column(name, "number"), None


def _numbers(cells: _Counts) -> NDArray[np.float64] | None:
    try:
        return np.array(list(cells), np.float64) if cells else None
    except ValueError:
        return None


def _judged(target: Target, *, together: bool = False) -> Target:
    metric = _choose(target.schema, together=together)
    why = _WHY[target.schema.columns[0].kind]
    return replace(target, metric=metric, reasons={**target.reasons, "metric": why})


def _choose(schema: Schema, *, together: bool = False) -> str:
    """Return the metric for these columns. together: each row has one class of all columns."""
    kind = schema.columns[0].kind
    names = _METRICS[kind]
    if together and len(schema.columns) > 1:
        names = ("log_loss_multiclass", *names)
    for name in names:
        metric = metrics.get(name)
        try:
            metric.check(schema, None, metric.parse({}))
        except ParameterError:
            continue
        return name
    raise ParameterError(
        "solution", "No metric fits these columns. Set the competition up by hand, page by page."
    )
