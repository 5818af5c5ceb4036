"""A team's own best scores over time, small enough for a row: a step for each, the best on top."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

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
    # Answers may come in another order than the files were sent in.
    times = accumulate((at for at, _ in points), max)
    moments = [across(at) for at in times]
    steps = "".join(
        f"H{at}V{down(loss)}" for at, (_, loss) in zip(moments[1:], points[1:], strict=True)
    )
    steps_up = len(points) - 1
    text = f"improved {steps_up} time{'s' if steps_up > 1 else ''}"
    if not steps_up:
        text = "not improved since the first score"
    return Curve(f"M{moments[0]} {down(worst)}{steps}H{x}", x, y, text)
