"""One's own labels and predictions, scored by the metric that the server uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.checking import Rules, read, rejected, require, schema_of
from holdfast.errors import Failure
from holdfast.frames import as_upload

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from holdfast.connection import Json
    from holdfast.frames import Labels, Predictions
    from scoring.metrics import Metric
    from scoring.predictions import Predictions as Read
    from scoring.predictions import Schema, Solution


@dataclass(frozen=True)
class _Numbered:
    """The rows of an array without ids: 0, 1, 2 …"""

    header: tuple[str, ...]
    rows: int

    @property
    def ids(self) -> Iterable[str]:
        return map(str, range(self.rows))


@dataclass(frozen=True)
class Measured:
    """Labels and predictions of the same rows, with the competition's metric."""

    metric: Metric
    parameters: dict[str, Any]
    predictions: Read
    solution: Solution
    rows: NDArray[np.bool_]

    @classmethod
    def of(cls, found: Json, labels: Labels, predictions: Predictions) -> Measured:
        """Return both as the server would read them; `found` is its answer for the competition.

        Raises Rejected where one can't be read, and Failure where the metric isn't known here or
        does not fit the labels.
        """
        require("Scoring here", "scoring.predictions", "scoring.metrics")
        from scoring import metrics
        from scoring.errors import ParameterError, SolutionError
        from scoring.predictions import Limits, Usage, read_row_ids, read_solution

        slug = str(found["slug"])
        schema, name = schema_of(found, slug), str(found.get("metric_name") or "")
        if name not in metrics.METRICS:
            raise Failure(
                f"{slug} is scored by a metric that isn't known here.",
                hint="Organizers' own metrics run on the server alone. Else take a newer holdfast.",
            )
        metric = metrics.get(name)
        given = {"predictions": predictions, "labels": labels}
        files = {
            what: as_upload(value, partial(_frame, schema, value)) for what, value in given.items()
        }
        what = "predictions"
        try:
            with files[what].open() as file:
                ids = read_row_ids(file, schema)
            rules = Rules(schema, ids, Limits())
            with files[what].open() as file:
                read_in = read(file, rules, f"The {what}")
            what = "labels"
            with files[what].open() as file:
                solution = read_solution(file, schema, ids)
            parameters = metric.parse(found["metric_parameters"])
            metric.check(schema, solution, parameters)
        except SolutionError as error:
            raise rejected(f"The {what} can't be read.", error) from None
        except ParameterError as error:
            raise Failure(f"{metric.title} can't score these labels: {error.message}") from None
        return cls(metric, parameters, read_in, solution, solution.usage != Usage.IGNORED)

    @property
    def score(self) -> float:
        """Return the score as the server counts it, before a mechanism rounds it."""
        mean = self.metric.measure(self.predictions, self.solution, self.rows, self.parameters)
        return self.metric.score(mean.units / mean.whole, self.parameters)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Return the loss of each row, from 0 to 1; only means over rows have them."""
        if not self.metric.is_mean:
            raise Failure(f"{self.metric.title} is no mean over rows, so rows have no losses.")
        units = self.metric.count_rows(self.predictions, self.solution, self.rows, self.parameters)
        return units / self.metric.units


def _frame(schema: Schema, value: Any) -> _Numbered:
    rows = len(value) if hasattr(value, "__len__") and not isinstance(value, str) else 0
    return _Numbered(tuple(schema.header), rows)
