"""The moves from the released board to the final one: a line per team, from its place to its place.

Both sides have one scale: the first places, as many as teams are drawn. A team that came from
farther down begins below them, in order, with its true rank beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ROW = 26


@dataclass(frozen=True)
class Move:
    """A team's ranks on both boards."""

    name: str
    before: int
    after: int
    mine: bool = False


@dataclass(frozen=True)
class Slope:
    """A team's line; heights in pixels from the top. `direction` is "up", "down" or "same"."""

    move: Move
    direction: str
    start: float
    end: float


@dataclass(frozen=True)
class MovesChart:
    """All that is drawn; `height` in pixels, widths in per cent."""

    height: int
    slopes: tuple[Slope, ...]


def moves_chart(moves: Sequence[Move]) -> MovesChart | None:
    """Return the chart of some teams in their final order; None where nobody moved."""
    if all(move.before == move.after for move in moves):
        return None
    below = sorted(move.before for move in moves if move.before > len(moves))
    slopes = tuple(
        Slope(
            move,
            direction(move.before - move.after),
            _height(
                len(moves) + below.index(move.before) if move.before in below else move.before - 1
            ),
            _height(index),
        )
        for index, move in enumerate(moves)
    )
    return MovesChart(ROW * (len(moves) + len(below)), slopes)


def direction(places_won: int) -> str:
    """Return which way a team went."""
    return "up" if places_won > 0 else "down" if places_won < 0 else "same"


def _height(place: int) -> float:
    return place * ROW + ROW / 2
