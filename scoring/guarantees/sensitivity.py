"""How much one row can change a metric of the whole set. Theory.md 5.10."""

from scoring.guarantees.conditions import require_positive


def auc_sensitivity(positives: int, negatives: int) -> float:
    """Return max(1/n1 + 1/(n0 + 1), 1/n0 + 1/(n1 + 1)).

    One row changed in either class or moved between them. It holds near the given counts only; the
    worst over all holdouts is 1, so AUC has no privacy certificate.
    """
    require_positive(positives=positives, negatives=negatives)
    n1, n0 = positives, negatives
    return max(1 / n1 + 1 / (n0 + 1), 1 / n0 + 1 / (n1 + 1))
