"""Claimed scores: what a team says its file will get, where the mechanism checks that.

Without Public rows Thresholdout has nothing to confirm but such a claim (guess and check).
"""

from __future__ import annotations

import math

from leaderboard.errors import Refused
from leaderboard.models import Competition
from scoring import mechanisms, metrics
from scoring.mechanisms.thresholdout import takes_claims


def is_asked(competition: Competition) -> bool:
    """Whether every file of this competition comes with a claimed score."""
    if competition.mechanism not in mechanisms.MECHANISMS:
        return False
    parameters = mechanisms.get(competition.mechanism).parse(competition.mechanism_parameters)
    return takes_claims(parameters)


def check(competition: Competition, claimed: float | None) -> None:
    """Raises Refused where a claim is missing or no score at all."""
    if not is_asked(competition):
        return
    if claimed is None:
        raise Refused.invalid(
            "claimed_score", "Say which score you expect: the board confirms or corrects it."
        )
    low, high = sorted(_score_range(competition))
    if not (math.isfinite(claimed) and low <= claimed <= high):
        raise Refused.invalid(
            "claimed_score", f"Scores lie between {low:g} and {high:g}; {claimed:g} is none."
        )


def claimed_loss(competition: Competition, claimed: float) -> float:
    """The claimed score as a loss in [0, 1]."""
    metric = metrics.get(competition.metric)
    return metric.loss(claimed, metric.parse(competition.metric_parameters))


def _score_range(competition: Competition) -> tuple[float, float]:
    metric = metrics.get(competition.metric)
    return metric.score_range(metric.parse(competition.metric_parameters))
