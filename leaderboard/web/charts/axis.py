"""Axes: which stretch of numbers or time is shown, where its round values lie.

Positions are percentages of the axis, from 0 to 100, so that a chart stretches with the page
without its text being scaled.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_LONGEST = 6  # digits that fit beside an axis
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_TIME_STEPS = (
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 28, 91, 182, 364)),
)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    position: float
    label: str


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers from `low` to `high`, low < high."""

    low: float
    high: float
    ticks: tuple[Tick, ...]

    def at(self, value: float) -> float:
        """Return the position of a value in per cent; values beyond the ends lie on the ends."""
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * 100, 2)

    def holds(self, value: float) -> bool:
        """Return whether the value lies on the axis."""
        return self.low <= value <= self.high


def number_axis(low: float, high: float, ticks: int = 5) -> Axis:
    """Return an axis over [low, high] with about `ticks` round values; widened if it is a point."""
    if not low < high:
        slack = abs(low) * 0.05 or 0.05
        low, high = low - slack, high + slack
    step = nice_step(high - low, ticks)
    bare = Axis(low, high, ())
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    places = decimals(step)
    return Axis(
        low,
        high,
        tuple(
            Tick(bare.at(index * step), _number_label(index * step, places))
            for index in range(first, last + 1)
        ),
    )


def _number_label(value: float, places: int) -> str:
    """Return the value; short where it would not fit beside an axis: 2.5e9."""
    if abs(value) < 10**_LONGEST:
        return f"{value:.{places}f}"
    digits, _, power = f"{value:.6e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def nice_step(span: float, ticks: int) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that gives at most `ticks` + 1
    values."""
    rough = span / max(ticks, 1)
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _NICE if factor * power >= rough * (1 - 1e-9))


def decimals(step: float) -> int:
    """Return how many decimals tell the multiples of a step apart exactly, at most 6."""
    return next((d for d in range(6) if abs(round(step, d) - step) < step * 1e-6), 6)


@dataclass(frozen=True)
class TimeAxis:
    """A stretch of time from `start` to `end`, start < end."""

    start: datetime
    end: datetime
    ticks: tuple[Tick, ...]

    def at(self, when: datetime) -> float:
        """Return the position of a moment in per cent; moments beyond the ends lie on the ends."""
        share = (when - self.start) / (self.end - self.start)
        return round(min(max(share, 0.0), 1.0) * 100, 2)


def time_axis(start: datetime, end: datetime, ticks: int = 6) -> TimeAxis:
    """Return an axis over [start, end] with at most about `ticks` round moments, in UTC."""
    end = max(end, start + timedelta(minutes=1))
    span = (end - start).total_seconds()
    step = next((s for s in _TIME_STEPS if span / s <= ticks), _TIME_STEPS[-1])
    bare = TimeAxis(start, end, ())
    first = math.ceil((start - _MONDAY).total_seconds() / step)
    last = math.floor((end - _MONDAY).total_seconds() / step)
    moments = [_MONDAY + timedelta(seconds=index * step) for index in range(first, last + 1)]
    return TimeAxis(
        start,
        end,
        tuple(Tick(bare.at(when), _time_label(when, step)) for when in moments),
    )


def _time_label(when: datetime, step: int) -> str:
    if step >= 91 * _DAY:
        return f"{when:%b %Y}"
    midnight = when.hour == 0 and when.minute == 0
    return f"{when.day} {when:%b}" if step >= _DAY or midnight else f"{when:%H:%M}"
