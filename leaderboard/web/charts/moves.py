"""The moves from the released board to the final one: a line per team, from its place to its place.

Places are those among the teams that are drawn; the numbers beside them are the true ranks.
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
    by_rank_before = sorted(range(len(moves)), key=lambda index: moves[index].before)
    places = {index: place for place, index in enumerate(by_rank_before)}
    slopes = tuple(
        Slope(move, direction(move.before - move.after), _height(places[index]), _height(index))
        for index, move in enumerate(moves)
    )
    return MovesChart(ROW * len(moves), slopes)


def direction(places_won: int) -> str:
    """Return which way a team went."""
    return "up" if places_won > 0 else "down" if places_won < 0 else "same"


def _height(place: int) -> float:
    return place * ROW + ROW / 2
