"""What a metric is: one function of aligned arrays, and what is known about it.

Mean metrics give a loss in [0, 1] for each row, others one loss for all rows together. Everything
else follows from the declaration: checks, quantisation to exact integers, the score that people
read, its range, and which mechanisms may show it.

Quantisation: a row's loss is counted in 1 / `resolution`, rounded to the nearest, so that a
measured mean loss is within 1 / (2 resolution) of the exact one (exact for 0/1 losses). `evaluate`
gives the exact score, for tests, experiments and a participant's own labels.

Weights: where a solution has them, a loss is the weighted mean. It then counts as a mean of
W / max(w) rows, W the sum of the weights: one row moves it by at most max(w) / W, and by convexity
of ln(1 - p + p exp(v)) in v every bound for that many plain rows holds for it. The weights must not
depend on the labels.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError, StateError
from scoring.measurement import Mean, weighted_mean
from scoring.mechanisms.base import Mechanism
from scoring.parameters import Parameter, Value, parse_all, show
from scoring.predictions.reader import Predictions
from scoring.predictions.schema import Column, Kind, Schema
from scoring.predictions.solution import Solution, Usage
from scoring.threads import spread

Values = NDArray[Any]
Weights = Values | None
Parameters = Mapping[str, Value]
Direction = Literal["maximize", "minimize"]
MetricKind = Literal["mean", "transformed_mean", "set_function", "any"]
# "one" column; several, "averaged" within a row; or all "together" as a matrix, rows by columns.
Columns = Literal["one", "averaged", "together"]

FINE: Final = 10**6
_PART: Final = 1 << 16
MEAN_KINDS: Final = ("mean", "transformed_mean")

# Each row's prediction or label: a number or code, a row of a matrix, or a list of codes (`Lists`).
# (predicted, actual, parameters) -> the loss of each row, in [0, 1]
RowLosses = Callable[[Any, Any, Parameters], Values]
# (predicted, actual, parameters, weights or None) -> the loss of all rows together, in [0, 1],
# exactly if it can. Weights are not negative and not all 0.
SetLoss = Callable[[Any, Any, Parameters, Weights], "Fraction | float"]
# (predicted, actual) -> the size of each row's error, before it is cut
Errors = Callable[[Any, Any], Values]
# the solution's labels of the scored rows (a matrix where columns go together) -> what is wrong,
# and the first wrong row if there is one to name
LabelRule = Callable[[Any], tuple[str, int | None] | None]
# the schema's columns -> what is wrong with them
ColumnRule = Callable[[tuple[Column, ...]], str | None]


@dataclass(frozen=True)
class Scale:
    """From a loss in [0, 1] to the score that people read, and back; strictly monotone.

    Every function takes the metric's parameters as well.
    """

    score: Callable[[float, Parameters], float]
    loss: Callable[[float, Parameters], float]


AS_LOSS = Scale(lambda loss, _: loss, lambda score, _: score)
COMPLEMENT = Scale(lambda loss, _: 1.0 - loss, lambda score, _: 1.0 - score)
# From 1 for a loss of 0 to -1 for a loss of 1: correlations and agreements.
SIGNED = Scale(lambda loss, _: 1.0 - 2.0 * loss, lambda score, _: (1.0 - score) / 2.0)


@dataclass(frozen=True)
class Sensitivity:
    """How far the label of one row can move a loss, the predictions and other labels held.

    formula: of the score, in words; condition: "" where there is none. source: where it is proved.
    bound: (predicted, actual) -> the largest move of the loss from these labels to any that differ
        in one row, if `holds` of (predicted, actual, changed). Without weights.
    always: c, where c / rows bounds that move for all labels and predictions; None where the
        bound holds near the given labels only.
    """

    formula: str
    bound: Callable[[Values, Values], float]
    condition: str = ""
    holds: Callable[[Values, Values, Values], bool] = lambda predicted, actual, changed: True
    always: int | None = None
    source: str = "docs/metrics.md"


@dataclass(frozen=True)
class Metric:
    """A metric, declared. See the module's docstring; instances come from `registry`.

    kind: "mean" of a [0, 1] loss per row; "transformed_mean", a monotone transform of one; a
        "set_function" of all rows together with a known sensitivity; or "any".
    takes: the kinds of column that it can score. columns: how many of them, and how.
    units: the resolution, in units per row.
    clipping: what is cut to keep the loss bounded, with {parameters}; "" where nothing is.
    errors: what the parameter `clip` bounds from above; None where nothing is cut so.
    weighted: whether it can take the weights of rows.
    """

    name: str
    title: str
    description: str
    takes: tuple[Kind, ...]
    kind: MetricKind
    scale: Scale = AS_LOSS
    row_losses: RowLosses | None = None
    set_loss: SetLoss | None = None
    parameters: tuple[Parameter, ...] = ()
    columns: Columns = "one"
    units: int = FINE
    clipping: str = ""
    errors: Errors | None = None
    weighted: bool = True
    sensitivity: Sensitivity | None = None
    label_rule: LabelRule | None = None
    column_rule: ColumnRule | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless exactly set functions have a known sensitivity."""
        if (self.kind == "set_function") != (self.sensitivity is not None):
            raise ValueError(f"{self.name}: a set function is one with a known sensitivity")

    @property
    def direction(self) -> Direction:
        """Return which way scores get better."""
        worst, best = self.score_range(self.parse({}))
        return "maximize" if best > worst else "minimize"

    @property
    def is_mean(self) -> bool:
        """Return whether it is a mean over rows or a transform of one: scores have a guarantee."""
        return self.kind in MEAN_KINDS

    def parse(self, raw: Mapping[str, object]) -> dict[str, Value]:
        """Return typed parameters from what an organizer gave; missing ones take their defaults.

        Raise ParameterError naming the field.
        """
        return parse_all(self.parameters, raw)

    def check(self, schema: Schema, solution: Solution | None, params: Parameters) -> None:
        """Raise ParameterError, saying why, if the metric doesn't fit the schema or the labels.

        The message is for organizers: it may say something about labels.
        """
        self.check_columns(schema)
        if solution is not None:
            if solution.weights is not None and not self.weighted:
                raise self._misfit(f"{self.title} takes no weights; the solution has some.")
            for usage in (Usage.PRIVATE, Usage.PUBLIC, Usage.FINAL):
                self._check_split(solution, usage)

    def measure(
        self,
        predictions: Predictions,
        solution: Solution,
        mask: NDArray[np.bool_],
        params: Parameters,
    ) -> Mean:
        """Return the mean loss on the rows of `mask` (a bool for each row id), in exact integers.

        Defined and finite for all valid predictions and labels. Raise StateError, without
        numbers, if no row is meant, an ignored row is, or the row ids or schemas differ.
        """
        rows = check_rows(predictions, solution, mask)
        if self.row_losses is not None:
            parts = list(self._parts(predictions, solution, mask, params))
            if (weights := solution.weights_of(mask)) is not None:
                loss = weighted_mean(np.concatenate(parts), weights)
                return Mean(_set_units(loss, rows * FINE), rows, FINE)
            # The units of a part stay far below 2^53, so floats add exactly.
            units = sum(
                int(np.count_nonzero(part)) if part.dtype == np.bool_ else int(part.sum())
                for part in map(self._counted, parts)
            )
            return Mean(units, rows, self.units)
        chosen = np.flatnonzero(mask)
        both: tuple[Predictions | Solution, ...] = (predictions, solution)
        predicted, actual = spread(lambda source: self._chosen(source, chosen), both)
        weights = None if solution.weights is None else solution.weights[chosen]
        units = _set_units(self._set_loss(predicted, actual, params, weights), rows * self.units)
        return Mean(units, rows, self.units, additive=False)

    def count_rows(
        self,
        predictions: Predictions,
        solution: Solution,
        mask: NDArray[np.bool_],
        params: Parameters,
    ) -> Values:
        """Return the loss of each row of `mask` in whole units, whatever its weight.

        For means and their transforms; of plain rows `measure` has their sum. Raise StateError as
        `measure` does, and for a metric of all rows together.
        """
        check_rows(predictions, solution, mask)
        if not self.is_mean:
            raise StateError("Rows have no losses of their own.")
        dtype = np.uint8 if self.units == 1 else np.int32
        parts = self._parts(predictions, solution, mask, params)
        return np.concatenate([self._counted(part).astype(dtype) for part in parts])

    def is_wrong_class(self, schema: Schema) -> bool:
        """Return whether a loss is 1 where the wrong one of two classes is predicted, else 0."""
        classes = [len(column.classes) for column in schema.columns if column.kind == "label"]
        return self.is_mean and self.units == 1 and len(schema.columns) == 1 and classes == [2]

    def score(self, loss: float, params: Parameters) -> float:
        return self.scale.score(float(loss), params)

    def loss(self, score: float, params: Parameters) -> float:
        """Return the loss in [0, 1] of a score that people read, cut to its range."""
        if math.isnan(score):
            return 1.0
        low, high = sorted(self.score_range(params))
        return min(1.0, max(0.0, self.scale.loss(min(max(score, low), high), params)))

    def rounding(self, *, weighted: bool) -> float:
        """Return how far a mean loss as it is counted may be from the exact one: half a row's unit.

        0 for losses that are 0 or 1 and counted in whole rows, unless rows have different weights.
        """
        if self.units == 1 and not weighted:
            return 0.0
        return 0.5 / (FINE if weighted else self.units)

    def score_range(self, params: Parameters) -> tuple[float, float]:
        """Return the worst and the best score."""
        return self.score(1.0, params), self.score(0.0, params)

    def evaluate(
        self, predicted: Values, actual: Values, params: Parameters, weights: Weights = None
    ) -> float:
        """Return the score of arrays, not quantised; at least one row.

        predicted, actual: one value for each row; matrices, rows by columns, for several columns.
        weights: not negative, not all 0.
        """
        if self.row_losses is not None:
            losses = self._losses(predicted, actual, params)
            return self.score(float(np.average(losses, weights=weights)), params)
        return self.score(float(self._set_loss(predicted, actual, params, weights)), params)

    def allows(self, *mechanisms: Mechanism[Any]) -> str | None:
        """Return None where all these mechanisms may show the metric, else which can't, and why.

        Most need nothing of a metric but its range; without a mean their answers carry no
        guarantee.
        """
        titles = [each.title for each in mechanisms if not self.fits(each)]
        return f"{' and '.join(titles)} can't show this metric: {self.obstacle}" if titles else None

    def fits(self, mechanism: Mechanism[Any]) -> bool:
        return mechanism.metric_kinds is None or self.kind in mechanism.metric_kinds

    @property
    def obstacle(self) -> str:
        """Return what a mechanism that hides single rows has against it."""
        known = self.sensitivity
        if known is None:
            return "nobody has a useful bound on what one row can do to it."
        moves = f"one row can move this metric by up to {known.formula}"
        if known.always is None:
            near = f" as long as {known.condition}" if known.condition else ""
            return f"{moves}{near}: that is no bound for all predictions and labels."
        return f"{moves}, and a mean, for which noise is made, by 1 / rows."

    def facts(self, params: Parameters) -> tuple[str, ...]:
        """Return sentences for pages: what is measured, its range, what is cut, what is known."""
        better = "higher" if self.direction == "maximize" else "lower"
        # Six digits, never as a power of ten.
        low, high = (
            format(Decimal(format(score, ".6g")), ",f")
            for score in sorted(self.score_range(params))
        )
        texts = {name: v if isinstance(v, str) else show(v) for name, v in params.items()}
        said = (
            self.description,
            f"From {low} to {high}; {better} is better.",
            self.clipping.format(**texts),
            self.guarantee,
        )
        return tuple(sentence for sentence in said if sentence)

    @property
    def guarantee(self) -> str:
        """Return what is known of how far the score on these rows lies from the expected one."""
        if not self.is_mean:
            return "It isn't a mean over rows, so scores carry no guarantee."
        what = "a mean" if self.kind == "mean" else "a monotone transform of a mean"
        return f"It is {what} over rows, so scores can carry a guarantee."

    def row_errors(self, predicted: list[Values], actual: list[Values]) -> Values:
        """Return the errors of all rows and columns in one array, for a metric that has some."""
        assert self.errors is not None  # noqa: S101  (the caller has looked)
        return np.concatenate(
            [self.errors(each, labels) for each, labels in zip(predicted, actual, strict=True)]
        )

    def losses(
        self,
        schema: Schema,
        predicted: list[Values],
        actual: list[Values],
        params: Parameters,
        weights: Weights = None,
    ) -> Values:
        """Return each row's loss, from the columns' arrays; only means over rows have them."""
        return self._losses(self._arranged(predicted), self._arranged(actual), params)

    def _parts(
        self,
        predictions: Predictions,
        solution: Solution,
        mask: NDArray[np.bool_],
        params: Parameters,
    ) -> Iterator[Values]:
        """Yield the losses of the rows of `mask`, in parts that a processor can cache."""
        for start in range(0, len(mask), _PART):
            rows = start + np.flatnonzero(mask[start : start + _PART])
            if len(rows):
                weights = None if solution.weights is None else solution.weights[rows]
                predicted, actual = self._columns(predictions, rows), self._columns(solution, rows)
                yield self.losses(solution.schema, predicted, actual, params, weights)

    def _counted(self, losses: Values) -> Values:
        """Return losses in whole units, rounded to the nearest."""
        is_whole = losses.dtype == np.bool_ and self.units == 1
        return losses if is_whole else np.rint(losses * self.units)

    def _chosen(self, source: Predictions | Solution, rows: NDArray[np.int64]) -> Any:
        return self._arranged(self._columns(source, rows))

    def _columns(self, source: Predictions | Solution, rows: NDArray[np.int64]) -> list[Values]:
        return [source.columns[column.name][rows] for column in source.schema.columns]

    def _arranged(self, columns: list[Values]) -> Values:
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def _losses(self, predicted: Values, actual: Values, params: Parameters) -> Values:
        assert self.row_losses is not None  # noqa: S101  (a metric has one of the two)
        losses = self.row_losses(predicted, actual, params)
        average = self.columns == "averaged" and losses.ndim == 2
        return np.mean(losses, axis=1) if average else losses

    def _set_loss(
        self, predicted: Values, actual: Values, params: Parameters, weights: Weights
    ) -> Fraction | float:
        assert self.set_loss is not None  # noqa: S101  (a metric has one of the two)
        if weights is None:
            return self.set_loss(predicted, actual, params, None)
        heavy = weights > 0
        shares = weights[heavy] / weights.max()
        return self.set_loss(predicted[heavy], actual[heavy], params, shares)

    def check_columns(self, schema: Schema) -> None:
        """Raise ParameterError, saying why, if the metric can't score these columns."""
        for column in schema.columns:
            if column.kind not in self.takes:
                raise self._misfit(
                    f"{self.title} takes {_kinds(self.takes)}; `{column.name}` is a {column.kind}."
                )
        if len(schema.columns) > 1 and self.columns == "one":
            raise self._misfit(
                f"{self.title} needs one {_kinds(self.takes)} column; the schema has "
                f"{len(schema.columns)}."
            )
        if len(schema.columns) < 2 and self.columns == "together":
            raise self._misfit(f"{self.title} needs several columns.")
        if self.column_rule is not None and (wrong := self.column_rule(schema.columns)):
            raise self._misfit(f"{self.title}: {wrong}")

    def _check_split(self, solution: Solution, usage: Usage) -> None:
        rows = solution.usage == usage
        if self.label_rule is None or not rows.any():
            return
        names = [column.name for column in solution.schema.columns]
        columns = [solution.columns[name][rows] for name in names]
        if self.columns == "together":
            named = {"all columns": self._arranged(columns)}
        else:
            named = {f"column `{name}`": each for name, each in zip(names, columns, strict=True)}
        for name, labels in named.items():
            if (wrong := self.label_rule(labels)) is not None:
                says, row = wrong
                place = f"{usage.name.lower()} rows, {name}"
                if row is not None and solution.lines is not None:
                    place = f"line {solution.lines[rows][row]}, {name}"
                raise self._misfit(f"{self.title}, {place}: {says}")

    def _misfit(self, message: str) -> ParameterError:
        return ParameterError("metric", message)


def number(params: Parameters, name: str) -> float:
    """Return a numeric parameter as a float."""
    value = params[name]
    if isinstance(value, str):
        raise ParameterError(name, "Give a number.")
    return float(value)


def check_rows(predictions: Predictions, solution: Solution, mask: NDArray[np.bool_]) -> int:
    """Return what the rows of a mask that may be measured count as. Raise StateError, see
    `measure`.
    """
    if mask.dtype != np.bool_ or mask.shape != solution.usage.shape:
        raise StateError("A mask has one boolean for each row.")
    if predictions.row_ids_digest != solution.row_ids_digest:
        raise StateError("Predictions and solution have different row ids.")
    if predictions.schema != solution.schema:
        raise StateError("Predictions and solution have different schemas.")
    if np.any(mask & (solution.usage == Usage.IGNORED)):
        raise StateError("Ignored rows are never scored.")
    if not np.any(mask):
        raise StateError("A mean needs at least one row.")
    return solution.effective_rows(mask)


def _set_units(loss: Fraction | float, whole: int) -> int:
    return math.floor(Fraction(loss) * whole + Fraction(1, 2))


def _kinds(kinds: tuple[Kind, ...]) -> str:
    return " or ".join(kinds)
