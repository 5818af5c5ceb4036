"""The final board as it is drawn: exact scores with their intervals on one axis, and the moves."""

from dataclasses import dataclass

from leaderboard import models, queries
from leaderboard.queries import FinalBoard, FinalRow, Interval, Scale
from leaderboard.templatetags.text import ordinal
from leaderboard.web.charts.axis import Axis
from leaderboard.web.charts.forest import Estimate, Mark, forest
from leaderboard.web.charts.moves import Move, MovesChart, direction, moves_chart

CHART_TEAMS = 12


@dataclass(frozen=True)
class Line:
    """A row of the final board with its drawing; the texts say in words what is drawn.

    `direction` is "up", "down" or "same".
    """

    row: FinalRow
    mark: Mark | None
    direction: str
    move: str
    alternative: str


@dataclass(frozen=True)
class Board:
    """Rows on one axis. `ranged` says whether they have intervals."""

    axis: Axis
    lines: tuple[Line, ...]
    ranged: bool


def draw(board: models.Board, page: FinalBoard) -> Board:
    """Draw the forest plot of a page; the winner's interval is the band of all that overlap it."""
    reads, rows = queries.scale(board), page.rows
    band = page.winners_interval if page.together else None
    estimates = [_estimate(row, band) for row in rows]
    plot = forest(estimates, Interval(*sorted((reads.worst, reads.best))))
    lines = (
        Line(row, mark, direction(row.move), _move(row), _alternative(row, reads))
        for row, mark in zip(rows, plot.marks, strict=True)
    )
    return Board(
        axis=plot.axis,
        lines=tuple(lines),
        ranged=any(each.sampling for each in estimates),
    )


def moves(page: FinalBoard) -> MovesChart | None:
    """Draw how the first teams moved; on the first page of the whole board only."""
    if page.page > 1 or page.search:
        return None
    shown = page.rows[:CHART_TEAMS]
    return moves_chart([Move(r.team, r.released_rank, r.rank, r.mine) for r in shown])


def _estimate(row: FinalRow, band: Interval | None) -> Estimate:
    return Estimate(row.best.value, row.best.interval, band=band if row.with_winner else None)


def _move(row: FinalRow) -> str:
    if not row.move:
        return "as before"
    return f"{direction(row.move)} {abs(row.move)} from {ordinal(row.released_rank)}"


def _alternative(row: FinalRow, reads: Scale) -> str:
    interval = row.best.interval
    if interval is None:
        return f"{row.best.score}; no interval"
    places = max(reads.decimals, 3)
    ends = f"{interval.low:.{places}f} to {interval.high:.{places}f}"
    tail = "; overlaps the winner's" if row.with_winner and row.rank > 1 else ""
    return f"{row.best.score}; interval {ends}{tail}"
