"""Claimed scores: what a team expects its file to get, where a board's mechanism checks that.

Without Public rows Thresholdout has nothing to confirm but such a claim (guess and check).
"""

import math

from leaderboard.errors import Refused
from leaderboard.models import Round
from scoring import metrics


def are_asked_for(round: Round) -> bool:
    """Return whether a board of the round confirms or corrects what teams claim."""
    return any(board.takes_claims for board in round.boards.all())


def check(round: Round, claimed: float | None) -> None:
    """Raise Refused where a claim is missing, or is no score of the board that asks for it."""
    for board in round.boards.all():
        if not board.takes_claims:
            continue
        if claimed is None:
            raise Refused("invalid", field="claimed_score", variant="score_missing")
        metric = metrics.get(board.metric)
        low, high = sorted(metric.score_range(metric.parse(board.metric_parameters)))
        if not (math.isfinite(claimed) and low <= claimed <= high):
            raise Refused(
                "invalid",
                field="claimed_score",
                variant="score_impossible",
                low=low,
                high=high,
                claimed=claimed,
            )
