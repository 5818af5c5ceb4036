"""How released levels of a board read as scores, with their intervals."""

from leaderboard.models import Board, Holdout
from scoring import mechanisms, metrics
from scoring.guarantees.groups import design_of
from scoring.guarantees.intervals import wilson_interval
from scoring.predictions import Usage
from scoring.scales import Interval, Scale, finest_step, scale_of

__all__ = ["Interval", "Scale", "finest_step", "sampling_interval", "scale"]

SAMPLING_CONFIDENCE = 0.95


def scale(board: Board) -> Scale:
    """Return how released levels of a board read as scores."""
    metric = metrics.get(board.metric)
    parameters = metric.parse(board.metric_parameters)
    mechanism = mechanisms.get(board.mechanism)
    return scale_of(metric, parameters, mechanism, mechanism.parse(board.mechanism_parameters))


def sampling_interval(reads: Scale, holdout: Holdout | None, loss: float) -> Interval | None:
    """Return the plain sampling error of a mean over the private rows (Wilson), if it has one.

    Rows in groups are counted by the design that was published with them, for the worst case, and
    never by how the losses of groups scatter, which are hidden.
    """
    if holdout is None or not metrics.get(reads.metric).is_mean:
        return None
    design = design_of(holdout.designs, Usage.PRIVATE, holdout.effective_private_rows)
    low, high = wilson_interval(loss, design.sampling_rows, 1 - SAMPLING_CONFIDENCE)
    return reads.interval(low, high)
