"""The leading scores over time as a step chart: a team's best score holds until it is beaten."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboard.queries import Interval
from leaderboard.web.charts.axis import Axis, TimeAxis, number_axis, time_axis

HEIGHT = 240
_TOP, _BOTTOM = 12, 228
_LABEL_GAP = 20


@dataclass(frozen=True)
class Series:
    """A team and the moments at which its best released score changed, in order of time."""

    name: str
    points: tuple[tuple[datetime, float], ...]


@dataclass(frozen=True)
class Segment:
    """A straight piece: x in per cent, y in pixels from the top."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Point:
    """A change of a team's best score."""

    x: float
    y: float
    when: datetime
    score: float


@dataclass(frozen=True)
class Line:
    """One team's steps. `shape` (0 to 4) chooses marker and colour; `label_y` is free of others."""

    name: str
    shape: int
    segments: tuple[Segment, ...]
    points: tuple[Point, ...]
    label_y: float

    @property
    def last(self) -> Point:
        return self.points[-1]


@dataclass(frozen=True)
class Row:
    """A labelled height of the chart, in pixels from the top."""

    y: float
    label: str


@dataclass(frozen=True)
class StepChart:
    """All that is drawn; `height` in pixels, widths in per cent."""

    height: int
    time: TimeAxis
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]


def step_chart(
    series: Sequence[Series], start: datetime, end: datetime, limits: Interval
) -> StepChart | None:
    """Return the chart of at most five teams, in the board's order; None where nothing has been
    released.

    Every point lies between `start` and `end`, every score within `limits`, and so does the axis.
    """
    drawn = [one for one in series if one.points][:5]
    if not drawn:
        return None
    scores = [score for one in drawn for _, score in one.points]
    axis = _axis(min(scores), max(scores), limits)
    time = time_axis(start, end)

    def height(score: float) -> float:
        return round(_BOTTOM - axis.at(score) / 100 * (_BOTTOM - _TOP), 1)

    ends = spread([height(one.points[-1][1]) for one in drawn], _LABEL_GAP, _TOP, _BOTTOM)
    lines = []
    for shape, (one, label_y) in enumerate(zip(drawn, ends, strict=True)):
        points = tuple(Point(time.at(t), height(s), t, s) for t, s in one.points)
        lines.append(Line(one.name, shape, _segments(points), points, label_y))
    span = _BOTTOM - _TOP
    rows = tuple(Row(round(_BOTTOM - t.position / 100 * span, 1), t.label) for t in axis.ticks)
    return StepChart(HEIGHT, time, rows, tuple(lines))


def _axis(low: float, high: float, limits: Interval) -> Axis:
    """Return the axis of scores; around a single one it shows a tenth of all that there can be."""
    if low == high:
        around = (limits.high - limits.low) / 20
        low, high = max(low - around, limits.low), min(high + around, limits.high)
    return number_axis(low, high, ticks=4)


def _segments(points: Sequence[Point]) -> tuple[Segment, ...]:
    pieces: list[Segment] = []
    for index, point in enumerate(points):
        until = points[index + 1].x if index + 1 < len(points) else 100.0
        pieces.append(Segment(point.x, point.y, until, point.y))
        if index + 1 < len(points):
            pieces.append(Segment(until, point.y, until, points[index + 1].y))
    return tuple(pieces)


def spread(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return the heights moved as little as needed to lie `gap` apart, in their order, within [low,
    high].

    Equal heights keep the order in which they are given.
    """
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    placed = [0.0] * len(heights)
    floor = low
    for index in order:
        placed[index] = max(heights[index], floor)
        floor = placed[index] + gap
    ceiling = high
    for index in reversed(order):
        placed[index] = round(min(placed[index], ceiling), 1)
        ceiling = placed[index] - gap
    return placed
