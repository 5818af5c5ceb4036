"""Custom metrics: entry points in the group `holdfast.metrics`, run in processes with limits.

An entry point is an object, or a module, with

    title, worst, best                                    what it is called, and its range of scores
    score(solution, submission, row_id_column_name)       Kaggle's signature, on pandas data frames
    check(submission)                                     optional; sees no labels
    description, takes, seconds, megabytes                optional

What `check` raises as a `ParticipantVisibleError` is shown to the participant. Whatever `score`
raises is not: it depends on labels, and so does whether it raises. Such a submission gets the worst
score, through the mechanism like any other, and the organizer learns the type and the place of the
error, never its message.

Nothing is known of such a metric but its range: mechanisms that take custom metrics may show it,
without certificates.
"""

import contextlib
import json
import logging
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring.errors import ParameterError, PredictionError
from scoring.measurement import Mean
from scoring.mechanisms.base import Mechanism
from scoring.metrics import Metric
from scoring.metrics.base import FINE, Parameters, Scale, check_rows
from scoring.metrics.registry import METRICS, add
from scoring.predictions import Column, Lists, Predictions, RowIds, Schema, Solution, Usage, texts
from scoring.predictions.problems import metric_refused
from scoring.predictions.schema import KINDS

logger = logging.getLogger(__name__)

GROUP: Final = "holdfast.metrics"
SECONDS: Final = 60
MEGABYTES: Final = 4096
WAITING_SECONDS: Final = 30  # beyond the time to compute: a busy machine starts processes slowly
_CHILD: Final = Path(__file__).with_name("custom_metric_child.py")
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

Columns = Mapping[str, Any]


class CustomMetricFailed(Exception):
    """The label-free check of a custom metric crashed. The text names a type and a place."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave: a score, or a failure and what the participant may read of it."""

    score: float | None = None
    failure: str = ""
    says: str | None = None


@dataclass(frozen=True, kw_only=True)
class CustomMetric(Metric):
    """A metric of an entry point. See the module's docstring."""

    module: str
    attribute: str
    has_check: bool
    seconds: int = SECONDS
    megabytes: int = MEGABYTES

    def check(self, schema: Schema, solution: Solution | None, params: Parameters) -> None:
        """Try it on the labels of the private rows, as if they had been predicted."""
        super().check(schema, solution, params)
        if solution is None:
            return
        rows = solution.usage == Usage.PRIVATE
        outcome = self._score(schema, solution.columns, solution, rows, solution.row_ids)
        if self._loss_of(outcome) is None:
            raise ParameterError(
                "metric",
                f"{self.title} gave no score from {self.score_range({})} when the labels "
                f"themselves were predicted: {outcome.failure or 'not a number'}.",
            )

    def measure(
        self,
        predictions: Predictions,
        solution: Solution,
        mask: NDArray[np.bool_],
        params: Parameters,
    ) -> Mean:
        """Measure like any metric; where `score` fails, with the worst loss and a note of it."""
        rows = check_rows(predictions, solution, mask)
        outcome = self._score(
            solution.schema, predictions.columns, solution, mask, predictions.row_ids
        )
        loss = self._loss_of(outcome)
        if loss is None:
            _note(f"{self.title}: {outcome.failure or 'the score is not a number'}")
            loss = 1.0
        return Mean(round(loss * rows * FINE), rows, FINE, additive=False)

    def screen(self, predictions: Predictions) -> None:
        """Run the metric's own check of predictions, without labels.

        Raises PredictionError with the message for the participant, CustomMetricFailed otherwise.
        """
        if not self.has_check:
            return
        everything = np.ones(predictions.rows, np.bool_)
        frame = _table(predictions.schema, predictions.columns, everything, predictions.row_ids)
        outcome = self._run("check", [frame], predictions.schema.id_column)
        if outcome.says is not None:
            raise PredictionError([metric_refused(outcome.says)])
        if outcome.failure:
            logger.error("%s, check: %s", self.title, outcome.failure)
            raise CustomMetricFailed(outcome.failure)

    def fits(self, mechanism: Mechanism[Any]) -> bool:
        return mechanism.takes_custom_metrics

    @property
    def obstacle(self) -> str:
        return "only the range of a custom metric is known, and nothing more could be promised."

    def _loss_of(self, outcome: Outcome) -> float | None:
        if outcome.score is None or math.isnan(outcome.score):
            return None
        return self.loss(outcome.score, {})

    def _score(
        self,
        schema: Schema,
        predicted: Columns,
        solution: Solution,
        mask: NDArray[np.bool_],
        row_ids: RowIds | None,
    ) -> Outcome:
        truth = _table(schema, solution.columns, mask, row_ids)
        if solution.weights is not None:
            truth = truth.append_column("Weight", pa.array(solution.weights[mask]))
        guess = _table(schema, predicted, mask, row_ids)
        return self._run("score", [truth, guess], schema.id_column)

    def _run(self, step: str, frames: Sequence[pa.Table], id_column: str) -> Outcome:
        task = {
            "step": step,
            "module": self.module,
            "attribute": self.attribute,
            "row_id_column_name": id_column,
            "frames": len(frames),
            "path": [each for each in sys.path if each],
            "seconds": self.seconds,
            "waits": self.seconds + 2 * WAITING_SECONDS,
            "megabytes": self.megabytes,
        }
        sink = pa.BufferOutputStream()
        sink.write(json.dumps(task).encode() + b"\n")
        for table in frames:
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
        return _ask_child(sink.getvalue(), self.seconds + WAITING_SECONDS)


def register() -> None:
    """Add every installed entry point to the registry; log those that can't be used."""
    for point in entry_points(group=GROUP):
        if point.name in METRICS:
            logger.error("Metric %s of %s: the name is taken.", point.name, point.value)
            continue
        try:
            add(_load(point))
        except Exception as error:
            logger.error("Metric %s of %s: %s", point.name, point.value, repr(error))


def is_custom(name: str) -> bool:
    """Return whether the metric is a custom one."""
    return isinstance(METRICS.get(name), CustomMetric)


def screen(name: str, predictions: Predictions) -> None:
    """Run the check of a custom metric; do nothing for others. See `CustomMetric.screen`."""
    metric = METRICS.get(name)
    if isinstance(metric, CustomMetric):
        metric.screen(predictions)


_notes: ContextVar[list[str] | None] = ContextVar("notes of custom metrics", default=None)


@contextlib.contextmanager
def noting() -> Iterator[list[str]]:
    """Collect the notes of custom metrics for the organizer."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def _note(text: str) -> None:
    logger.error("%s", text)
    notes = _notes.get()
    if notes is not None:
        notes.append(text)


def _load(point: EntryPoint) -> CustomMetric:
    """Load an entry point. Raises whatever is wrong with it."""
    given: Any = point.load()
    worst, best = float(given.worst), float(given.best)
    if not (math.isfinite(worst) and math.isfinite(best)) or worst == best:
        raise ValueError("worst and best are two different finite numbers")
    if not callable(given.score):
        raise TypeError("score is a function")
    takes = tuple(getattr(given, "takes", KINDS))
    if not set(takes) <= set(KINDS):
        raise ValueError(f"takes some of {', '.join(KINDS)}")
    return CustomMetric(
        name=point.name,
        title=str(given.title),
        description=str(getattr(given, "description", "A custom metric of this server.")),
        kind="any",
        takes=takes,
        columns="averaged",
        scale=Scale(
            lambda loss, _: best + (worst - best) * loss,
            lambda score, _: (score - best) / (worst - best),
        ),
        module=point.module,
        attribute=point.attr or "",
        has_check=hasattr(given, "check"),
        seconds=int(getattr(given, "seconds", SECONDS)),
        megabytes=int(getattr(given, "megabytes", MEGABYTES)),
    )


def _ask_child(content: pa.Buffer, seconds: float) -> Outcome:
    """Run a task in a child process. Labels go through the pipe, nowhere else."""
    with subprocess.Popen(
        [sys.executable, "-I", "-B", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    ) as child:
        try:
            answer, _ = child.communicate(content, timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(failure=f"it took longer than {seconds:g} seconds")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    if not answer:
        return Outcome(failure=f"its process ended with code {child.returncode}")
    with contextlib.suppress(ValueError, TypeError):  # an error would carry the score along
        return Outcome(**json.loads(answer))
    return Outcome(failure="its answer can't be read")


def _table(
    schema: Schema, columns: Columns, mask: NDArray[np.bool_], row_ids: RowIds | None
) -> pa.Table:
    """Return the rows of a mask as the files have them; where ids aren't kept, with positions."""
    rows = np.flatnonzero(mask)
    cells = {schema.id_column: pa.array(rows) if row_ids is None else row_ids.values(rows)}
    for column in schema.columns:
        cells[column.name] = _cells(column, columns[column.name][mask])
    return pa.table(cells)


def _cells(column: Column, values: Any) -> pa.Array:
    if column.kind == "text":
        return pa.array(
            [each[0] if len(each) == 1 else json.dumps(each) for each in texts.rows(values)]
        )
    if isinstance(values, Lists):
        ends = zip(values.offsets[:-1], values.offsets[1:], strict=True)
        rows = (values.codes[start:end] for start, end in ends)
        return pa.array(
            [column.separator.join(column.classes[code] for code in row) for row in rows],
            pa.string(),
        )
    if column.kind == "label":
        return _classes(column).take(pa.array(values))
    return pa.array(values)


def _classes(column: Column) -> pa.Array:
    """Return the classes as pandas would read them: integers if all are."""
    with contextlib.suppress(ValueError, OverflowError):
        numbers = [int(each) for each in column.classes]
        if [str(number) for number in numbers] == list(column.classes):
            return pa.array(numbers)
    return pa.array(column.classes)
