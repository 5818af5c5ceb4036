"""A mean of losses that the organizer writes as a formula of a row's columns.

A row whose loss isn't finite or lies outside the declared range counts as the worst: so the mean is
one of losses in [0, 1] whatever the formula, the labels and the predictions are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from scoring.errors import ParameterError
from scoring.metrics.base import Metric, Parameters, Scale, Values, Weights, number
from scoring.metrics.formula import LONGEST, Formula, FormulaError, read_formula
from scoring.metrics.registry import add
from scoring.parameters import Parameter, Value
from scoring.predictions.schema import Schema
from scoring.predictions.solution import Solution

# Sums of floats may miss an end of the range by their last digits.
_SLACK: Final = 1e-9
_NAME = re.compile(r"(prediction|label)(_\w+)?|weight")

LOSS = Parameter(
    name="loss",
    title="Loss of a row",
    help=(
        "A formula of prediction and label, such as abs(log1p(prediction) - log1p(label)). "
        "Of several columns write prediction_NAME and label_NAME; weight is the row’s weight. "
        "Operators: + - * / **, comparisons, and, or, not. Functions: abs, clip, exp, expm1, "
        "floor, log, log1p, max, min, sign, sqrt, where(condition, then, else)."
    ),
    kind="text",
    default="abs(prediction - label)",
    maximum=LONGEST,
)
LOW = Parameter(
    name="low",
    title="Smallest loss",
    help="What a perfect row gets.",
    kind="fraction",
    default=Fraction(0),
)
HIGH = Parameter(
    name="high",
    title="Largest loss",
    help=(
        "A row beyond it, or without a finite loss, counts as this. Not larger than needed: the "
        "board’s steps and guarantees are shares of the range."
    ),
    kind="fraction",
    default=Fraction(1),
)
UNIT = Parameter(
    name="unit",
    title="Unit of the loss",
    help="Such as minutes; may be empty.",
    kind="text",
    default="",
    maximum=20,
)


def _width(params: Parameters) -> float:
    return number(params, "high") - number(params, "low")


@dataclass(frozen=True, kw_only=True)
class ExpressionMetric(Metric):
    """The metric "expression". See the module's docstring."""

    def parse(self, raw: Mapping[str, object]) -> dict[str, Value]:
        """Parse, and read the formula too. Raise ParameterError."""
        params = super().parse(raw)
        if number(params, "low") >= number(params, "high"):
            raise ParameterError("high", "Give more than the smallest loss.")
        formula = _formula(params)
        for name, place in formula.names.items():
            if not _NAME.fullmatch(name):
                raise _unknown(name, place, "prediction, label, weight or a function")
        for part in ("prediction", "label"):
            if not any(name.partition("_")[0] == part for name in formula.names):
                raise ParameterError("loss", f"Expected a formula that uses the {part}.")
        return params

    def check(self, schema: Schema, solution: Solution | None, params: Parameters) -> None:
        """Check that the formula's names are columns. Raise ParameterError."""
        super().check(schema, solution, params)
        known = _known(schema)
        for name, place in _formula(params).names.items():
            if name not in known:
                raise _unknown(name, place, f"one of {', '.join(known)}")
            if name == "weight" and solution is not None and solution.weights is None:
                raise ParameterError(
                    "loss", f"Character {place}: “weight”, but the solution has no column Weight."
                )

    def check_columns(self, schema: Schema) -> None:
        """Check that a formula can name each column. Raise ParameterError."""
        super().check_columns(schema)
        known = _known(schema)
        if len(set(known)) < len(known):
            raise self._misfit(
                f"{self.title}: two columns would have the same name in the formula; their names "
                "need to differ in letters, digits and underscores."
            )

    def losses(
        self,
        schema: Schema,
        predicted: list[Values],
        actual: list[Values],
        params: Parameters,
        weights: Weights = None,
    ) -> Values:
        """Return each row's loss as a share of the range; 1 where it is undefined or outside."""
        values: dict[str, Any] = {}
        for names, *columns in zip(_names(schema), predicted, actual, strict=True):
            values |= zip(names, (np.asarray(each, np.float64) for each in columns), strict=True)
        rows = len(predicted[0])
        values["weight"] = np.ones(rows) if weights is None else weights
        return _shares(_formula(params).evaluate(values), params)


def _row_losses(predicted: Values, actual: Values, params: Parameters) -> Values:
    """Return the losses of one column."""
    values = {"prediction": predicted, "label": actual, "weight": np.ones(len(actual))}
    floats = {name: np.asarray(each, np.float64) for name, each in values.items()}
    return _shares(_formula(params).evaluate(floats), params)


def _shares(losses: Values, params: Parameters) -> Values:
    with np.errstate(all="ignore"):
        shares = (losses - number(params, "low")) / _width(params)
        fine = (shares >= -_SLACK) & (shares <= 1 + _SLACK)
    found: Values = np.clip(np.where(fine, shares, 1.0), 0.0, 1.0)
    return found


def _formula(params: Parameters) -> Formula:
    try:
        return read_formula(str(params["loss"]))
    except FormulaError as error:
        raise ParameterError("loss", str(error)) from None


def _names(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what a formula calls each column's prediction and label."""
    for column in schema.columns:
        end = "_" + re.sub(r"\W", "_", column.name) if len(schema.columns) > 1 else ""
        yield f"prediction{end}", f"label{end}"


def _known(schema: Schema) -> list[str]:
    return [*(name for pair in _names(schema) for name in pair), "weight"]


def _unknown(name: str, place: int, expected: str) -> ParameterError:
    return ParameterError("loss", f"Character {place}: Expected {expected}, not “{name}”.")


add(
    ExpressionMetric(
        name="expression",
        title="Formula of the organizer",
        description=(
            "The mean of a loss that the organizer wrote for each row as a formula. A row whose "
            "loss isn't finite or lies outside the range counts as the worst."
        ),
        takes=("number", "probability", "label"),
        kind="mean",
        columns="averaged",
        parameters=(LOSS, LOW, HIGH, UNIT),
        row_losses=_row_losses,
        scale=Scale(
            lambda loss, params: number(params, "low") + _width(params) * loss,
            lambda score, params: (score - number(params, "low")) / _width(params),
        ),
    )
)
