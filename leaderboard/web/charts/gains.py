"""What somebody who guesses takes from each board, file by file: small lines beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from scoring.guarantees.gains import Gains

HEIGHT = 140
_TOP, _BOTTOM = 10, 130
_TICKS = (1, 10, 100, 200)


@dataclass(frozen=True)
class Line:
    """A curve in pieces, x in per cent and y in pixels; `points` of a hundred are its end."""

    title: str
    shape: int
    segments: tuple[tuple[float, float, float, float], ...]
    end_y: float
    points: float


@dataclass(frozen=True)
class GainsChart:
    """All that is drawn, and its labelled places."""

    height: int
    lines: tuple[Line, ...]
    files: tuple[tuple[float, int], ...]
    heights: tuple[tuple[float, str], ...]


def gains_chart(curves: Sequence[Gains]) -> GainsChart:
    """Return the chart; the first curve is the ordinary board's."""
    top = max(0.05, *(gain for curve in curves for _, gain in curve.points))
    most = max(files for curve in curves for files, _ in curve.points)

    def x(files: int) -> float:
        return round(100 * log(files) / log(most), 2)

    def y(gain: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * gain / top, 1)

    lines = []
    for shape, curve in enumerate(curves):
        places = [(x(files), y(gain)) for files, gain in curve.points]
        pieces = pairwise(places)
        segments = tuple((*start, *end) for start, end in pieces)
        gained = 100 * curve.points[-1][1]
        lines.append(Line(curve.title, shape, segments, places[-1][1], round(gained, 1)))
    heights = tuple((y(part * top), f"{50 + 100 * part * top:.0f} %") for part in (0, 0.5, 1))
    files = tuple((x(each), each) for each in _TICKS if each <= most)
    return GainsChart(HEIGHT, tuple(lines), files, heights)
