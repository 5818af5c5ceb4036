"""What a metric is, and the registry that metrics enter by decorator.

A metric's heart is one function of aligned arrays. Mean metrics give a loss in [0, 1] for each
row, set functions one loss for all rows. Everything else follows from the declaration: checks,
quantisation to exact integers, the score that people read, its range.

Quantisation: a row's loss is counted in 1 / `resolution`, rounded to the nearest, so that a
measured mean loss is within 1 / (2 resolution) of the exact one (exact for 0/1 losses). `evaluate`
gives the exact score, for tests, experiments and a participant's own labels.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean
from scoring.parameters import Parameter, Value, parse_all
from scoring.predictions.reader import Predictions
from scoring.predictions.schema import Column, Kind, Schema
from scoring.predictions.solution import Solution, Usage

Values = NDArray[Any]
Parameters = Mapping[str, Value]
Losses = NDArray[np.float64]
Direction = Literal["maximize", "minimize"]
MetricKind = Literal["mean", "transformed_mean", "set_function"]

FINE = 10**6

# (predicted, actual, parameters) -> the loss of each row, in [0, 1]
RowLosses = Callable[[Values, Values, Parameters], Values]
# (predicted, actual, parameters) -> the loss of all rows together, in [0, 1], exactly if it can
SetLoss = Callable[[Values, Values, Parameters], "Fraction | float"]
# (the solution's labels of the scored rows, column) -> what is wrong with them, or None
LabelRule = Callable[[Values, Column], str | None]


@dataclass(frozen=True)
class Scale:
    """From a loss in [0, 1] to the score that people read, and back; strictly monotone.

    Every function takes the metric's parameters as well.
    """

    score: Callable[[float, Parameters], float]
    loss: Callable[[float, Parameters], float]


AS_LOSS = Scale(lambda loss, _: loss, lambda score, _: score)
COMPLEMENT = Scale(lambda loss, _: 1.0 - loss, lambda score, _: 1.0 - score)


@dataclass(frozen=True)
class Metric:
    """A metric, declared. See the module's docstring; instances come from the decorators below.

    kind: "mean" of a [0, 1] loss per row; "transformed_mean", a monotone transform of one; or a
        "set_function" of all rows together.
    takes: the kinds of column that it can score. several: whether it takes more than one column;
        the loss of a row is then the mean over its columns.
    units: the resolution, in units per row.
    """

    name: str
    title: str
    description: str
    direction: Direction
    kind: MetricKind
    takes: tuple[Kind, ...]
    scale: Scale
    row_losses: RowLosses | None = None
    set_loss: SetLoss | None = None
    parameters: tuple[Parameter, ...] = ()
    several: bool = False
    units: int = FINE
    label_rule: LabelRule | None = None

    def parse(self, raw: Mapping[str, object]) -> dict[str, Value]:
        """Typed parameters from what an organizer gave; missing ones take their defaults.

        Raises ParameterError naming the field.
        """
        return parse_all(self.parameters, raw)

    def check(self, schema: Schema, solution: Solution | None, params: Parameters) -> None:
        """Raises ParameterError, saying why, if the metric doesn't fit the schema or the labels.

        The message is for organizers: it may say something about labels.
        """
        self._check_columns(schema)
        if solution is not None and self.label_rule is not None:
            for usage in (Usage.PRIVATE, Usage.PUBLIC, Usage.FINAL):
                self._check_labels(self.label_rule, schema, solution, usage)

    def measure(
        self,
        predictions: Predictions,
        solution: Solution,
        mask: NDArray[np.bool_],
        params: Parameters,
    ) -> Mean:
        """The mean loss on the rows of `mask` (bool, one for each row id), in exact integers.

        Defined and finite for all valid predictions and labels. Raises StateError, without
        numbers, if no row is meant, an ignored row is, or the row ids or schemas differ.
        """
        rows = _rows(predictions, solution, mask)
        pairs = [
            (predictions.columns[column.name][mask], solution.columns[column.name][mask])
            for column in solution.schema.columns
        ]
        if self.row_losses is not None:
            units = _row_units(self._mean_of_columns(pairs, params), self.units)
        else:
            units = _set_units(self._exact(pairs, params), rows * self.units)
        return Mean(units, rows, self.units, additive=self.kind != "set_function")

    def score(self, loss: float, params: Parameters) -> float:
        """The score that people read."""
        return self.scale.score(float(loss), params)

    def loss(self, score: float, params: Parameters) -> float:
        """The loss in [0, 1] of a score that people read; scores out of range are cut to it."""
        if math.isnan(score):
            return 1.0
        low, high = sorted(self.score_range(params))
        return min(1.0, max(0.0, self.scale.loss(min(max(score, low), high), params)))

    def resolution(self, params: Parameters) -> int:
        """The units that a row's loss is counted in."""
        return self.units

    def score_range(self, params: Parameters) -> tuple[float, float]:
        """The worst and the best score."""
        return self.score(1.0, params), self.score(0.0, params)

    def evaluate(self, predicted: Values, actual: Values, params: Parameters) -> float:
        """The score of arrays, not quantised; at least one row. For one column."""
        return self.score(float(self._exact([(predicted, actual)], params)), params)

    def _exact(self, pairs: list[tuple[Values, Values]], params: Parameters) -> Fraction | float:
        if self.set_loss is not None:
            ((predicted, actual),) = pairs
            return self.set_loss(predicted, actual, params)
        return float(np.mean(self._mean_of_columns(pairs, params)))

    def _mean_of_columns(self, pairs: list[tuple[Values, Values]], params: Parameters) -> Values:
        assert self.row_losses is not None  # noqa: S101  (the caller looked)
        losses = [self.row_losses(predicted, actual, params) for predicted, actual in pairs]
        return losses[0] if len(losses) == 1 else np.mean(losses, axis=0)

    def _check_columns(self, schema: Schema) -> None:
        for column in schema.columns:
            if column.kind not in self.takes:
                raise self._misfit(
                    f"{self.title} takes {_kinds(self.takes)}; `{column.name}` is a {column.kind}."
                )
        if len(schema.columns) > 1 and not self.several:
            raise self._misfit(
                f"{self.title} needs one {_kinds(self.takes)} column; the schema has "
                f"{len(schema.columns)}."
            )

    def _check_labels(
        self, rule: LabelRule, schema: Schema, solution: Solution, usage: Usage
    ) -> None:
        rows = solution.usage == usage
        for column in schema.columns:
            labels = solution.columns[column.name][rows]
            if len(labels) and (wrong := rule(labels, column)):
                raise self._misfit(
                    f"{self.title}, {usage.name.lower()} rows, column `{column.name}`: {wrong}"
                )

    def _misfit(self, message: str) -> ParameterError:
        return ParameterError("metric", message)


METRICS: dict[str, Metric] = {}


def get(name: str) -> Metric:
    """The metric of this name. Raises ParameterError."""
    if name not in METRICS:
        known = ", ".join(METRICS)
        raise ParameterError("metric", f"There is no metric called {name!r}; choose from {known}.")
    return METRICS[name]


def mean_metric(
    name: str,
    *,
    title: str,
    description: str,
    takes: tuple[Kind, ...],
    direction: Direction = "minimize",
    transformed: bool = False,
    scale: Scale = AS_LOSS,
    parameters: tuple[Parameter, ...] = (),
    several: bool = False,
    units: int = FINE,
    label_rule: LabelRule | None = None,
) -> Callable[[RowLosses], RowLosses]:
    """Registers a function that gives the loss of each row, in [0, 1].

    transformed: whether the score is a transform of the mean loss that isn't linear.
    """

    def register(row_losses: RowLosses) -> RowLosses:
        _add(
            Metric(
                name=name,
                title=title,
                description=description,
                direction=direction,
                kind="transformed_mean" if transformed else "mean",
                takes=takes,
                scale=scale,
                row_losses=row_losses,
                parameters=parameters,
                several=several,
                units=units,
                label_rule=label_rule,
            )
        )
        return row_losses

    return register


def set_function(
    name: str,
    *,
    title: str,
    description: str,
    takes: tuple[Kind, ...],
    direction: Direction = "maximize",
    scale: Scale = COMPLEMENT,
    parameters: tuple[Parameter, ...] = (),
    label_rule: LabelRule | None = None,
) -> Callable[[SetLoss], SetLoss]:
    """Registers a function that gives one loss, in [0, 1], for all rows together."""

    def register(set_loss: SetLoss) -> SetLoss:
        _add(
            Metric(
                name=name,
                title=title,
                description=description,
                direction=direction,
                kind="set_function",
                takes=takes,
                scale=scale,
                set_loss=set_loss,
                parameters=parameters,
                label_rule=label_rule,
            )
        )
        return set_loss

    return register


def number(params: Parameters, name: str) -> float:
    """A numeric parameter as a float."""
    value = params[name]
    if isinstance(value, str):
        raise ParameterError(name, "Give a number.")
    return float(value)


def _add(metric: Metric) -> None:
    if metric.name in METRICS:
        raise ValueError(f"two metrics are called {metric.name}")
    METRICS[metric.name] = metric


def _rows(predictions: Predictions, solution: Solution, mask: NDArray[np.bool_]) -> int:
    if mask.dtype != np.bool_ or mask.shape != solution.usage.shape:
        raise StateError("A mask has one boolean for each row.")
    if predictions.row_ids_digest != solution.row_ids_digest:
        raise StateError("Predictions and solution have different row ids.")
    if predictions.schema != solution.schema:
        raise StateError("Predictions and solution have different schemas.")
    if np.any(mask & (solution.usage == Usage.IGNORED)):
        raise StateError("Ignored rows are never scored.")
    rows = int(np.count_nonzero(mask))
    if not rows:
        raise StateError("A mean needs at least one row.")
    return rows


def _row_units(losses: Values, resolution: int) -> int:
    if losses.dtype == np.bool_ and resolution == 1:
        return int(np.count_nonzero(losses))
    return int(np.rint(losses * resolution).astype(np.int64).sum())


def _set_units(loss: Fraction | float, whole: int) -> int:
    return math.floor(Fraction(loss) * whole + Fraction(1, 2))


def _kinds(kinds: tuple[Kind, ...]) -> str:
    return " or ".join(kinds)
