"""The final board as it is drawn: exact scores with their intervals on one axis, and the moves."""

from leaderboard import models, queries
from leaderboard.access import Person
from leaderboard.queries import FinalBoard, FinalRow, Interval, Scale
from leaderboard.templatetags.text import ordinal
from leaderboard.web.board import Board, Line, plot
from leaderboard.web.charts.forest import Estimate
from leaderboard.web.charts.moves import Move, MovesChart, direction, moves_chart

CHART_TEAMS = 12


def draw(board: models.Board, page: FinalBoard, *, together: bool, whole: bool = False) -> Board:
    """Draw the forest plot of a page, with each score's own interval or all that hold together."""
    reads = queries.scale(board)

    def interval(row: FinalRow) -> Interval | None:
        return row.best.interval if together else row.best.sampling

    return plot(
        reads,
        page.span,
        page.rows,
        [Estimate(row.best.value, interval(row)) for row in page.rows],
        lambda row, mark: Line(
            row,
            mark,
            _alternative(row, interval(row), reads),
            move=_move(row),
            direction=direction(row.move or 0),
            places=_places(row),
        ),
        whole=whole,
    )


def moves(round: models.Round, user: Person, page: FinalBoard) -> MovesChart | None:
    """Draw how the first teams of both boards moved; on the first page of the whole board only."""
    if page.page > 1 or page.search:
        return None
    found = queries.moved(round, user, CHART_TEAMS)
    return moves_chart(
        [
            Move(each.team, each.before, each.after, each.mine)
            for each in found
            if each.before is not None
        ],
        CHART_TEAMS,
    )


def _places(row: FinalRow) -> str:
    """Return which places a team could have: "3rd to 7th"; nothing where there were no tests."""
    if row.best_place is None or row.worst_place is None:
        return ""
    best, worst = ordinal(row.best_place), ordinal(row.worst_place)
    return best if best == worst else f"{best} to {worst}"


def _move(row: FinalRow) -> str:
    if row.rank is None:
        return ""
    if row.move is None or row.released_rank is None:
        return "new"
    if not row.move:
        return "as before"
    return f"{direction(row.move)} {abs(row.move)} from {ordinal(row.released_rank)}"


def _alternative(row: FinalRow, interval: Interval | None, reads: Scale) -> str:
    if interval is None:
        return f"{row.best.score}; no interval"
    places = max(reads.decimals, 3)
    return f"{row.best.score}; interval {interval.low:.{places}f} to {interval.high:.{places}f}"
