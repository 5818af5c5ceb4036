"""The board as a forest plot: a dot per team, its whisker, and bands of overlapping whiskers, all
on one axis.

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
    """What is known of a team: its released score, how sure it is, and the band that it is in."""

    score: float
    sampling: Interval | None = None
    band: Interval | None = None


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
    band: Whisker | None


@dataclass(frozen=True)
class Forest:
    """The axis that all rows share, and a mark for each row (None: nothing released yet)."""

    axis: Axis
    marks: tuple[Mark | None, ...]


def forest(rows: Sequence[Estimate | None], limits: Interval) -> Forest:
    """Return the plot of `rows` in the board's order; `limits` are the scores that the metric can
    take."""
    axis = _axis([row for row in rows if row is not None], limits)
    return Forest(axis, tuple(_mark(axis, row) if row else None for row in rows))


@dataclass(frozen=True)
class Tied:
    """A score on the board, its sampling interval, and how many teams have it."""

    score: float
    sampling: Interval
    teams: int


def bands(scores: Sequence[Tied]) -> dict[float, Interval]:
    """Return, for each score, best first, the interval of its band's first team.

    A score stays in the band as long as its interval overlaps that of the band's first; the first
    that doesn't begins a band of its own. So all of a band overlap one interval, which is not so
    when each is compared with its neighbour only. A band of one team is left out.
    """
    groups: list[list[Tied]] = []
    for each in scores:
        first = groups[-1][0].sampling if groups else None
        if first and each.sampling.low <= first.high and first.low <= each.sampling.high:
            groups[-1].append(each)
        else:
            groups.append([each])
    return {
        each.score: group[0].sampling
        for group in groups
        if sum(each.teams for each in group) > 1
        for each in group
    }


def _mark(axis: Axis, row: Estimate) -> Mark:
    beyond = "start" if row.score < axis.low else "end" if row.score > axis.high else ""
    return Mark(
        position=axis.at(row.score),
        beyond=beyond,
        sampling=_whisker(axis, row.sampling),
        band=_whisker(axis, row.band),
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


def _axis(rows: Sequence[Estimate], limits: Interval) -> Axis:
    if not rows:
        return number_axis(limits.low, limits.high)
    near = _near(rows)
    low = min(_ends(row)[0] for row in near)
    high = max(_ends(row)[1] for row in near)
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
