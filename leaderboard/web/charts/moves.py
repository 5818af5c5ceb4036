"""The moves from the released board to the final one: a line per team, from its place to its place.

Both sides have one scale, that of all teams: a place lies as far down as it has teams above it, and
those who share it share its point. Below a gap stand, in order, places that are farther down than
the chart reaches, with their true numbers beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

ROW: Final = 26
GAP: Final = 16  # between the chart and places farther down


@dataclass(frozen=True)
class Move:
    """A team's ranks, among all teams, on both boards."""

    name: str
    before: int
    after: int
    mine: bool = False


@dataclass(frozen=True)
class Slope:
    """A team's line; heights in pixels from the top. `direction` is "up", "down" or "same".

    `label` is where the team's name stands, clear of others; `numbered` is whether the place that
    it starts from has no number yet.
    """

    move: Move
    direction: str
    start: float
    end: float
    label: float
    numbered: bool


@dataclass(frozen=True)
class MovesChart:
    """All that is drawn of the `first` places; `height` in pixels, widths in per cent.

    `gap` is the height below which places are farther down than they look; None without any.
    """

    height: float
    first: int
    slopes: tuple[Slope, ...]
    gap: float | None


def moves_chart(moves: Sequence[Move], first: int) -> MovesChart | None:
    """Return the chart of teams in their final order; None where nobody moved.

    first: how many places of both boards are drawn; `moves` has the teams that have them.
    """
    if all(move.before == move.after for move in moves):
        return None
    starts = _heights([move.before for move in moves], first)
    ends = _heights([move.after for move in moves], first)
    labels = list(accumulate(ends, lambda above, end: max(end, above + ROW)))
    slopes = tuple(
        Slope(
            move,
            direction(move.before - move.after),
            starts[at],
            ends[at],
            labels[at],
            numbered=starts[at] not in starts[:at],
        )
        for at, move in enumerate(moves)
    )
    lowest, bottom = max(*starts, *labels), first * ROW
    return MovesChart(
        lowest + ROW / 2, first, slopes, bottom + GAP / 2 if lowest > bottom else None
    )


def direction(places_won: int) -> str:
    """Return which way a team went."""
    return "up" if places_won > 0 else "down" if places_won < 0 else "same"


def _heights(ranks: Sequence[int], first: int) -> list[float]:
    """Return the height of each rank."""
    below = sorted({rank for rank in ranks if rank > first})
    return [
        ROW * (first + below.index(rank) + 0.5) + GAP if rank > first else ROW * (rank - 0.5)
        for rank in ranks
    ]
