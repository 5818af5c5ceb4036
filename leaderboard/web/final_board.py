"""The final board as it is drawn: exact scores with their intervals on one axis, and the moves."""

from leaderboard import models, queries
from leaderboard.queries import FinalBoard, FinalRow, Scale
from leaderboard.templatetags.text import ordinal
from leaderboard.web.board import Board, Line, plot
from leaderboard.web.charts.forest import Estimate
from leaderboard.web.charts.moves import Move, MovesChart, direction, moves_chart

CHART_TEAMS = 12


def draw(board: models.Board, page: FinalBoard) -> Board:
    """Draw the forest plot of a page; the winner's interval is the band of all that overlap it."""
    reads, band = queries.scale(board), page.winners_interval if page.together else None
    estimates = [
        Estimate(row.best.value, row.best.interval, band=band if row.with_winner else None)
        for row in page.rows
    ]
    return plot(
        reads,
        page.rows,
        estimates,
        lambda row, mark: Line(
            row, mark, _alternative(row, reads), move=_move(row), direction=direction(row.move)
        ),
    )


def moves(page: FinalBoard) -> MovesChart | None:
    """Draw how the first teams moved; on the first page of the whole board only."""
    if page.page > 1 or page.search:
        return None
    shown = page.rows[:CHART_TEAMS]
    return moves_chart([Move(r.team, r.released_rank, r.rank, r.mine) for r in shown])


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
