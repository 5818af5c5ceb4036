"""The board as a forest plot: a dot per team, its whiskers, and bands of teams that can't be told
apart, all on one axis.

The dark whisker is the sampling error: how far the score of the same predictions would move with
other rows. The light one is the certificate: how far the board's own answers can have pushed it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.axis import Axis, number_axis

# Certificates are often much wider than all scores; this share of the axis on each side is theirs.
_CERTIFICATE_ROOM = 0.45
# A score that lies this many quartile distances below the rest is shown at the edge, not to scale.
_FAR_AWAY = 4.0
_PADDING = 0.03


@dataclass(frozen=True)
class Interval:
    """A stretch of scores, low <= high."""

    low: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Estimate:
    """What is known of a team: its released score and how sure it is."""

    score: float
    sampling: Interval | None = None
    certificate: Interval | None = None


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
    certificate: Whisker | None
    band: Whisker | None
    leads_band: bool


@dataclass(frozen=True)
class Forest:
    """The axis that all rows share, and a mark for each row (None: nothing released yet)."""

    axis: Axis
    marks: tuple[Mark | None, ...]


def forest(
    rows: Sequence[Estimate | None], limits: Interval, above: Interval | None = None
) -> Forest:
    """The plot of `rows` in the board's order.

    `limits` are the scores that the metric can take. `above` is the sampling interval of the team
    that leads the band which was open where these rows begin, for a page after the first.
    """
    known = [row for row in rows if row is not None]
    axis = _axis(known, limits)
    leaders = band_leaders([row.sampling if row else None for row in rows], above)
    shared = _shared(leaders)
    return Forest(
        axis,
        tuple(
            _mark(axis, row, leader if in_band else None, leader is row.sampling) if row else None
            for row, leader, in_band in zip(rows, leaders, shared, strict=True)
        ),
    )


def band_leaders(
    intervals: Sequence[Interval | None], above: Interval | None = None
) -> list[Interval | None]:
    """For each row the interval of the team that leads its band.

    A row stays in the band as long as its interval overlaps that of the band's first team; the
    first that doesn't begins a band of its own. So all of a band overlap one interval, which is
    not so when each is only compared with its neighbour.
    """
    leader = above
    leaders: list[Interval | None] = []
    for interval in intervals:
        if interval is None:
            leaders.append(None)
            continue
        if leader is None or not interval.overlaps(leader):
            leader = interval
        leaders.append(leader)
    return leaders


def _shared(leaders: Sequence[Interval | None]) -> list[bool]:
    """Whether a row shares its band with the row before or after it."""
    padded = [None, *leaders, None]
    return [
        leader is not None and (leader is padded[index] or leader is padded[index + 2])
        for index, leader in enumerate(leaders)
    ]


def _mark(axis: Axis, row: Estimate, band: Interval | None, leads: bool) -> Mark:
    beyond = "start" if row.score < axis.low else "end" if row.score > axis.high else ""
    return Mark(
        position=axis.at(row.score),
        beyond=beyond,
        sampling=_whisker(axis, row.sampling),
        certificate=_whisker(axis, row.certificate),
        band=_whisker(axis, band),
        leads_band=leads,
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
    room = (high - low or (limits.high - limits.low) / 20) * _CERTIFICATE_ROOM
    certificates = [row.certificate for row in near if row.certificate]
    low = max(min([low, *(c.low for c in certificates)]), low - room)
    high = min(max([high, *(c.high for c in certificates)]), high + room)
    padding = (high - low) * _PADDING
    return number_axis(max(low - padding, limits.low), min(high + padding, limits.high))


def _ends(row: Estimate) -> tuple[float, float]:
    if row.sampling is None:
        return row.score, row.score
    return min(row.sampling.low, row.score), max(row.sampling.high, row.score)


def _near(rows: Sequence[Estimate]) -> Sequence[Estimate]:
    """The rows without those so far from the others that they would flatten the plot."""
    if len(rows) < 4:
        return rows
    scores = sorted(row.score for row in rows)
    lower, upper = scores[len(scores) // 4], scores[(3 * len(scores)) // 4]
    widest = max(end - start for start, end in map(_ends, rows))
    reach = _FAR_AWAY * max(upper - lower, widest)
    return [row for row in rows if lower - reach <= row.score <= upper + reach]
