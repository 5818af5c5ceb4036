"""The board as it is drawn: rows with their marks on the shared axis, and the chart above."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from django.utils import timezone

from leaderboard import models, queries, words
from leaderboard.access import Person
from leaderboard.queries import BoardRow, FinalRow, Interval, Scale, Step
from leaderboard.queries.paging import Span
from leaderboard.web.charts.axis import Axis
from leaderboard.web.charts.curve import Curve, curve
from leaderboard.web.charts.forest import Estimate, Mark, forest
from leaderboard.web.charts.moves import direction
from leaderboard.web.charts.steps import Series, StepChart, step_chart

CHART_TEAMS = 5

Row = TypeVar("Row", BoardRow, FinalRow)


@dataclass(frozen=True)
class Line:
    """A row of a board with its drawing; the texts say in words what is drawn.

    `guaranteed` is the stored interval of a released score, in words; `better` names the teams that
    it surely beats, with the `confidence` of that. `move` is its change of place in words, as
    `direction` "up", "down" or "same"; `curve` its best scores over time. A row of the final board
    has the `places` that it could have. `others` are the titles of the other boards of the round
    with its scores there.
    """

    row: BoardRow | FinalRow
    mark: Mark | None
    alternative: str
    guaranteed: str = ""
    better: str = ""
    confidence: str = ""
    move: str = ""
    direction: str = ""
    curve: Curve | None = None
    places: str = ""
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Board:
    """Rows on one axis. What is `sampled` the key has to explain; a `whole` axis holds all scores.

    columns: the titles of the other boards of the round.
    """

    axis: Axis
    lines: tuple[Line, ...]
    sampled: bool
    whole: bool
    columns: tuple[str, ...] = ()

    @property
    def mine(self) -> str:
        """Return the id of the team whose row is marked here, if there is one."""
        return next((line.row.uid for line in self.lines if line.row.mine), "")


def draw(
    board: models.Board, span: Span, rows: Sequence[BoardRow], *, whole: bool = False
) -> Board:
    """Draw the forest plot of some rows of a board."""
    reads, round = queries.scale(board), board.round
    # To the end of the minute, so that rows without news are drawn as they were.
    now = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    end = min(now, round.closes_at or now)
    confidence = queries.board_confidence(board)
    estimates = [None if row.value is None else Estimate(row.value, row.sampling) for row in rows]
    columns = queries.column_scores(board, [row.team_id for row in rows])
    drawn = plot(
        reads,
        span,
        rows,
        estimates,
        lambda row, mark: Line(
            row,
            mark,
            _alternative(row, reads),
            guaranteed=words.guaranteed(row, reads),
            better=words.listed(row.surely_better),
            confidence=confidence,
            move=_change(row),
            direction=direction(row.change or 0),
            curve=curve(row.curve, round.opens_at, end, maximize=reads.maximize),
            others=tuple(
                (title, scores.get(row.team_id, "–")) for title, scores in columns.items()
            ),
        ),
        whole=whole,
    )
    return replace(drawn, columns=tuple(columns))


def plot(
    reads: Scale,
    span: Span,
    rows: Sequence[Row],
    estimates: Sequence[Estimate | None],
    line: Callable[[Row, Mark | None], Line],
    *,
    whole: bool,
) -> Board:
    """Draw rows on the axis that their estimates share, each by what `line` makes of it."""
    drawn = forest(estimates, _limits(reads), span, whole=whole)
    return Board(
        axis=drawn.axis,
        lines=tuple(map(line, rows, drawn.marks)),
        sampled=any(each.sampling for each in estimates if each),
        whole=whole,
    )


def history(board: models.Board, user: Person) -> StepChart | None:
    """Draw the chart of the leading scores over time."""
    steps = queries.leading_steps(board, user, CHART_TEAMS)
    if not steps:
        return None
    now = timezone.now()
    end = max(min(now, board.round.closes_at or now), steps[-1].at)
    start = steps[0].at
    margin = max((end - start) * 0.02, timedelta(seconds=30))
    by_team: dict[int, list[Step]] = {}
    for step in steps:
        by_team.setdefault(step.team_id, []).append(step)
    reads = queries.scale(board)
    sign = -1 if reads.maximize else 1
    leaders = sorted(by_team.values(), key=lambda own: (sign * own[-1].value, own[-1].at))
    series = [Series(own[-1].team, tuple((step.at, step.value) for step in own)) for own in leaders]
    return step_chart(series, start - margin, end + margin / 4, _limits(reads))


def _limits(reads: Scale) -> Interval:
    return Interval(*sorted((reads.worst, reads.best)))


def _change(row: BoardRow) -> str:
    """Return how far the row moved today; empty where it did not, or has no place."""
    if row.rank is None or row.change == 0:
        return ""
    return "new" if row.change is None else str(abs(row.change))


def own_history(board: models.Board, team: models.Team) -> StepChart | None:
    """Draw the chart of a team's best scores over time."""
    steps = queries.best_scores(team, board)
    if not steps:
        return None
    now, (start, _), (last, _) = timezone.now(), steps[0], steps[-1]
    end = max(min(now, board.round.closes_at or now), last)
    margin = max((end - start) * 0.02, timedelta(seconds=30))
    own = Series(team.name, tuple(steps))
    return step_chart([own], start - margin, end + margin / 4, _limits(queries.scale(board)))


def _alternative(row: BoardRow, reads: Scale) -> str:
    if row.score is None:
        return "nothing released yet"
    if row.sampling is None:
        return f"{row.score}; no sampling error"
    places = max(reads.decimals, 2)
    ends = f"{row.sampling.low:.{places}f} to {row.sampling.high:.{places}f}"
    return f"{row.score}; sampling error {ends}"
