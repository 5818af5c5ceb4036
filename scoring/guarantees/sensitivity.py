"""How much one row can change a metric, and the ranges of losses. Theory.md 5.10."""

import math

from scoring.guarantees.conditions import require, require_positive, require_probability


def auc_sensitivity(positives: int, negatives: int) -> float:
    """max(1/n1 + 1/(n0 + 1), 1/n0 + 1/(n1 + 1)): one row changed in either class or moved between
    them. It holds near the given counts only; the worst over all holdouts is 1, so AUC has no
    privacy certificate."""
    require_positive(positives=positives, negatives=negatives)
    n1, n0 = positives, negatives
    return max(1 / n1 + 1 / (n0 + 1), 1 / n0 + 1 / (n1 + 1))


def auc_width(positives: int, negatives: int, beta: float) -> float:
    """sqrt(ln(2/beta) / (2 min(n1, n0))): Hoeffding for the AUC of one fixed model on fresh rows.

    It needs hidden features; with released features the labels alone are random.
    """
    require_positive(positives=positives, negatives=negatives)
    require_probability(beta=beta)
    return math.sqrt(math.log(2 / beta) / (2 * min(positives, negatives)))


def log_loss_range(clip: float) -> float:
    """ln((1 - p) / p): the range of the log loss of probabilities clipped to [p, 1 - p]."""
    require(0 < clip < 0.5, "Probabilities are clipped strictly between 0 and 1/2.")
    return math.log((1 - clip) / clip)
