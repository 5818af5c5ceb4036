"""Widths of AUC and F1, how much one row can change F1, and the range of the log loss.

Theory.md 5.10. What one row can change of an AUC is in `scoring.guarantees.sensitivity`.
"""

import math

from scoring.guarantees.conditions import (
    require,
    require_not_negative,
    require_positive,
    require_probability,
)


def auc_width(positives: int, negatives: int, beta: float) -> float:
    """Return sqrt(ln(2/beta) / (2 min(n1, n0))): Hoeffding for the AUC of one fixed model on fresh
    rows.

    It needs hidden features; with released features the labels alone are random.
    """
    require_positive(positives=positives, negatives=negatives)
    require_probability(beta=beta)
    return math.sqrt(math.log(2 / beta) / (2 * min(positives, negatives)))


def log_loss_range(clip: float) -> float:
    """Return ln((1 - p) / p): the range of the log loss of probabilities clipped to [p, 1 - p]."""
    require(0 < clip < 0.5, "Probabilities are clipped strictly between 0 and 1/2.")
    return math.log((1 - clip) / clip)


def f1_sensitivity(positives: int) -> float:
    """Return 2 / n1: one row replaced, label and prediction, with n1 > 0 positive labels before it.
    F1 is 2 TP / D with D = predicted + actual positives; the row that matters most is a found
    positive that is lost, by at most 2 / D <= 2 / n1. It holds near the given count only; the worst
    over all holdouts is 1, so F1 has no privacy certificate.
    """
    require_positive(positives=positives)
    return min(1.0, 2 / positives)


def f1_width(rows: int, predicted: int, ln_count: float, beta: float) -> float:
    """Return sqrt((ln 2 + ln|F| + ln(1/beta)) sum c^2 / 2) (McDiarmid) for the F1 of predictions
    with q > 0 `predicted` positives around its mean over the labels, which are independent given
    the features: a label changes it by at most c = 2 / (q + 1) where a positive is predicted, and
    by 1 / (2 q + 1) elsewhere. Its mean is not the F1 of the population.
    """
    require_positive(rows=rows, predicted=predicted)
    require(predicted <= rows, "At most every row is predicted positive.")
    require_not_negative(ln_count=ln_count)
    require_probability(beta=beta)
    squares = predicted * (2 / (predicted + 1)) ** 2 + (rows - predicted) / (2 * predicted + 1) ** 2
    return math.sqrt((math.log(2) + ln_count - math.log(beta)) * squares / 2)
