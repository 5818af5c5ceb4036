"""From aligned predictions and labels to the one thing that a mechanism is told."""

from fractions import Fraction

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
        return Measurement(private, reference)
    public = solution.usage == Usage.PUBLIC
    if not public.any():
        return Measurement(private)
    return Measurement(private, metric.measure(predictions, solution, public, params))


def measure_final(
    metric: Metric, params: Parameters, predictions: Predictions, solution: Solution
) -> Mean:
    """Measure the mean loss that is published after the end, when no question can follow.

    On the Final rows where there are any, else on the Private rows. Raises StateError.
    """
    final = solution.usage == Usage.FINAL
    rows = final if final.any() else solution.usage == Usage.PRIVATE
    return metric.measure(predictions, solution, rows, params)
