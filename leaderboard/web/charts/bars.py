"""Uploads hour by hour as stacked bars, and a round as a line from its opening to its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaderboard.queries.running import Hour
from leaderboard.web.charts.axis import Tick, TimeAxis, number_axis, time_axis

HEIGHT = 120


@dataclass(frozen=True)
class Bar:
    """A bar: x and width in per cent, the rest in pixels from the top."""

    hour: Hour
    x: float
    width: float
    taken_y: float
    taken: float
    rejected_y: float
    rejected: float


@dataclass(frozen=True)
class BarChart:
    """All that is drawn. `rows` are heights in pixels with their labels."""

    height: int
    time: TimeAxis
    rows: tuple[tuple[float, str], ...]
    bars: tuple[Bar, ...]


def bar_chart(hours: Sequence[Hour]) -> BarChart | None:
    """Return the chart; None where there was nothing at all."""
    highest = max((hour.taken + hour.rejected for hour in hours), default=0)
    if not highest:
        return None
    # Of 7 the axis would name halves.
    axis = number_axis(0, 8 if highest == 7 else max(highest, 4), ticks=3)
    time = time_axis(hours[0].begins, hours[-1].begins + timedelta(hours=1))
    width = 100 / len(hours)

    def pixels(count: int) -> float:
        return round(axis.at(count) / 100 * HEIGHT, 1)

    bars = []
    for hour in hours:
        taken, rejected = pixels(hour.taken), pixels(hour.rejected)
        bars.append(
            Bar(
                hour=hour,
                x=time.at(hour.begins),
                width=round(width * 0.8, 2),
                taken_y=round(HEIGHT - taken, 1),
                taken=taken,
                rejected_y=round(HEIGHT - taken - rejected, 1),
                rejected=rejected,
            )
        )
    rows = tuple((round(HEIGHT * (1 - t.position / 100), 1), t.label) for t in axis.ticks)
    return BarChart(HEIGHT, time, rows, tuple(each for each in bars if each.taken or each.rejected))


@dataclass(frozen=True)
class TimeLine:
    """A round from its opening to its end; `now` is how far it is, in per cent."""

    ticks: tuple[Tick, ...]
    now: float


def time_line(opens_at: datetime, closes_at: datetime | None, now: datetime) -> TimeLine | None:
    """Return where a round stands; None where it has no end, or has not begun."""
    if closes_at is None or now < opens_at:
        return None
    axis = time_axis(opens_at, closes_at)
    return TimeLine(axis.ticks, axis.at(now))
