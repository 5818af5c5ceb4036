"""A team's own best scores over time, small enough for a row: a step for each, the best on top."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 72, 24
_SIDE, _TOP = 4, 5


@dataclass(frozen=True)
class Curve:
    """What is drawn in `WIDTH` by `HEIGHT` pixels: the steps, and the dot at their end."""

    path: str
    x: float
    y: float
    text: str


def curve(
    points: Sequence[tuple[int, float]], start: datetime, end: datetime, *, maximize: bool
) -> Curve | None:
    """Return the curve of best losses, each behind its moment in seconds; None without one.

    All rows have the stretch of time from `start` to `end`, each its own heights: from its first
    score to its best one, which lies where better scores lie.
    """
    if not points:
        return None
    begin, stretch = start.timestamp(), max((end - start).total_seconds(), 1)
    worst, best = points[0][1], points[-1][1]

    def across(at: float) -> float:
        share = min(max((at - begin) / stretch, 0.0), 1.0)
        return round(_SIDE + share * (WIDTH - 2 * _SIDE), 1)

    def down(loss: float) -> float:
        share = (loss - best) / (worst - best) if worst > best else 0.5
        return round(_TOP + (share if maximize else 1 - share) * (HEIGHT - 2 * _TOP), 1)

    x, y = WIDTH - _SIDE, down(best)
    steps = "".join(f"H{across(at)}V{down(loss)}" for at, loss in points[1:])
    times = len(points) - 1
    text = "not improved since the first score"
    if times:
        text = f"improved {times} time{'s' if times > 1 else ''}"
    return Curve(f"M{across(points[0][0])} {down(worst)}{steps}H{x}", x, y, text)
