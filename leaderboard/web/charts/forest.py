"""The board as a forest plot: a dot per team and its whisker, all on one axis.

The whisker is the sampling error: how far the score of the same predictions would move with other
rows. That two overlap says nothing of which is better; only a paired test does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from leaderboard.queries import Interval
from leaderboard.web.charts.axis import Axis, number_axis

# A score this many quartile distances or whiskers away from the rest is shown at the edge.
_FAR_AWAY = 2.5
_PADDING = 0.03


@dataclass(frozen=True)
class Estimate:
    """What is known of a team: its released score, and how sure it is."""

    score: float
    sampling: Interval | None = None


@dataclass(frozen=True)
class Whisker:
    """A drawn interval, in per cent of the axis; `cut` ends go on beyond it."""

    start: float
    end: float
    cut_start: bool
    cut_end: bool

    @property
    def width(self) -> float:
        return round(self.end - self.start, 2)


@dataclass(frozen=True)
class Mark:
    """How one row is drawn. `beyond` is "start" or "end" if its dot lies off the axis."""

    position: float
    beyond: str
    sampling: Whisker | None


@dataclass(frozen=True)
class Forest:
    """The axis that all rows share, and a mark for each row (None: nothing released yet)."""

    axis: Axis
    marks: tuple[Mark | None, ...]


def forest(
    rows: Sequence[Estimate | None],
    limits: Interval,
    span: tuple[float, float] | None = None,
    *,
    whole: bool = False,
) -> Forest:
    """Return the plot of `rows` in the board's order.

    `limits` are the scores that the metric can take, `span` the board's first and last score. The
    axis reaches from the first one to the rows, without those that lie far away; the `whole` one
    reaches to the last.
    """
    axis = _axis([row for row in rows if row is not None], limits, span, whole)
    return Forest(axis, tuple(_mark(axis, row) if row else None for row in rows))


def _mark(axis: Axis, row: Estimate) -> Mark:
    beyond = "start" if row.score < axis.low else "end" if row.score > axis.high else ""
    return Mark(
        position=axis.at(row.score),
        beyond=beyond,
        sampling=_whisker(axis, row.sampling),
    )


def _whisker(axis: Axis, interval: Interval | None) -> Whisker | None:
    if interval is None or interval.high < axis.low or interval.low > axis.high:
        return None
    return Whisker(
        axis.at(interval.low),
        axis.at(interval.high),
        interval.low < axis.low,
        interval.high > axis.high,
    )


def _axis(
    rows: Sequence[Estimate], limits: Interval, span: tuple[float, float] | None, whole: bool
) -> Axis:
    if not rows:
        return number_axis(limits.low, limits.high)
    shown = [_ends(row) for row in (rows if whole else _near(rows))]
    shown += [(end, end) for end in (span or ())[: 2 if whole else 1]]
    low, high = min(low for low, _ in shown), max(high for _, high in shown)
    padding = (high - low or (limits.high - limits.low) / 20) * _PADDING
    return number_axis(max(low - padding, limits.low), min(high + padding, limits.high))


def _ends(row: Estimate) -> tuple[float, float]:
    if row.sampling is None:
        return row.score, row.score
    return min(row.sampling.low, row.score), max(row.sampling.high, row.score)


def _near(rows: Sequence[Estimate]) -> Sequence[Estimate]:
    """Return the rows without those so far from the others that they would flatten the plot."""
    if len(rows) < 4:
        return rows
    scores = sorted(row.score for row in rows)
    lower, upper = scores[len(scores) // 4], scores[(3 * len(scores)) // 4]
    whisker = median(end - start for start, end in map(_ends, rows))
    reach = _FAR_AWAY * max(upper - lower, whisker)
    return [row for row in rows if lower - reach <= row.score <= upper + reach]
