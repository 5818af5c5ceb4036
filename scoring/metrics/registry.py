"""The registry of metrics and the decorators by which they enter it."""

from collections.abc import Callable
from typing import Required, TypedDict, Unpack

from scoring.errors import ParameterError
from scoring.metrics.base import (
    COMPLEMENT,
    ColumnRule,
    Columns,
    Errors,
    LabelRule,
    Metric,
    MetricKind,
    RowLosses,
    Scale,
    Sensitivity,
    SetLoss,
)
from scoring.parameters import Parameter
from scoring.predictions.schema import Kind

METRICS: dict[str, Metric] = {}


class Declared(TypedDict, total=False):
    """What a metric may say besides its name, title and description. See `Metric`."""

    takes: Required[tuple[Kind, ...]]
    scale: Scale
    parameters: tuple[Parameter, ...]
    columns: Columns
    units: int
    clipping: str
    errors: Errors
    weighted: bool
    label_rule: LabelRule
    column_rule: ColumnRule
    sensitivity: Sensitivity | None


def get(name: str) -> Metric:
    """Return the metric of this name. Raise ParameterError."""
    if name not in METRICS:
        known = ", ".join(METRICS)
        raise ParameterError("metric", f"There is no metric called {name!r}; choose from {known}.")
    return METRICS[name]


def add(metric: Metric) -> None:
    """Register a metric. Raise ValueError if there is one of its name."""
    if metric.name in METRICS:
        raise ValueError(f"two metrics are called {metric.name}")
    METRICS[metric.name] = metric


def mean_metric(
    name: str,
    title: str,
    description: str,
    *,
    transformed: bool = False,
    **declared: Unpack[Declared],
) -> Callable[[RowLosses], RowLosses]:
    """Register a function that gives the loss of each row, in [0, 1].

    transformed: whether the score is a transform of the mean loss that isn't linear.
    """
    kind: MetricKind = "transformed_mean" if transformed else "mean"

    def register(row_losses: RowLosses) -> RowLosses:
        add(Metric(name, title, description, kind=kind, row_losses=row_losses, **declared))
        return row_losses

    return register


def set_function(
    name: str, title: str, description: str, **declared: Unpack[Declared]
) -> Callable[[SetLoss], SetLoss]:
    """Register a function that gives one loss, in [0, 1], for all rows together.

    Its kind is "set_function" with a sensitivity, else "any".
    """
    declared.setdefault("scale", COMPLEMENT)
    kind: MetricKind = "set_function" if declared.get("sensitivity") else "any"

    def register(set_loss: SetLoss) -> SetLoss:
        add(Metric(name, title, description, kind=kind, set_loss=set_loss, **declared))
        return set_loss

    return register
