"""From aligned predictions and labels to the one thing that a mechanism is told."""

from fractions import Fraction
from statistics import stdev

import numpy as np
from numpy.typing import NDArray

from scoring.measurement import Mean, Measurement
from scoring.metrics.base import Metric, Parameters
from scoring.predictions.reader import Predictions
from scoring.predictions.solution import Solution, Usage


def measure(
    metric: Metric,
    params: Parameters,
    predictions: Predictions,
    solution: Solution,
    *,
    claims: bool,
    claimed: Fraction | float | None = None,
) -> Measurement:
    """Measure the mean loss on the Private rows, and what it is compared with.

    That is the mean on the Public rows, if there are any; where the mechanism checks claims
    (`claims`) it is the claimed loss, from 0 to 1, and nothing else ever. Raises StateError.
    """
    private = metric.measure(predictions, solution, solution.usage == Usage.PRIVATE, params)
    if claims:
        # Never the Public mean in its place: without a claim the mechanism refuses to answer.
        reference = None if claimed is None else private.claimed(claimed)
        return Measurement(private, reference, runs=predictions.runs)
    public = solution.usage == Usage.PUBLIC
    if not public.any():
        return Measurement(private, runs=predictions.runs)
    reference = metric.measure(predictions, solution, public, params)
    spread = _spread(metric, params, predictions, solution)
    return Measurement(private, reference, spread=spread, runs=predictions.runs)


def _spread(
    metric: Metric, params: Parameters, predictions: Predictions, solution: Solution
) -> float | None:
    """Return the standard deviation of the scores of several runs on the Public rows.

    Never on others: it would be another answer of theirs. None for a single run.
    """
    public = solution.usage == Usage.PUBLIC
    means = [metric.measure(run, solution, public, params) for run in predictions.each_run()]
    scores = [metric.score(mean.units / mean.whole, params) for mean in means]
    return stdev(scores) if len(scores) > 1 else None


def measure_final(
    metric: Metric, params: Parameters, predictions: Predictions, solution: Solution
) -> Mean:
    """Measure the mean loss that is published after the end, when no question can follow.

    Raises StateError.
    """
    return metric.measure(predictions, solution, final_mask(solution), params)


def final_mask(solution: Solution) -> NDArray[np.bool_]:
    """Return which rows decide in the end: the Final ones where there are any, else the Private."""
    usage = Usage.FINAL if (solution.usage == Usage.FINAL).any() else Usage.PRIVATE
    mask: NDArray[np.bool_] = solution.usage == usage
    return mask
