"""The board as it is drawn: rows with their marks on the shared axis, and the chart above."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from leaderboard import models, queries
from leaderboard.queries import BoardPage, BoardRow, Interval, Scale, Step
from leaderboard.web.charts.axis import Axis
from leaderboard.web.charts.forest import Estimate, Mark, Tied, bands, forest
from leaderboard.web.charts.steps import Series, StepChart, step_chart

CHART_TEAMS = 5
NEIGHBOURS = 2


@dataclass(frozen=True)
class Line:
    """A row of the board with its drawing; `alternative` says in words what the drawing shows.

    `certificate` is how far the guarantee reaches, "none" where there is none.
    """

    row: BoardRow
    mark: Mark | None
    certificate: str
    alternative: str


@dataclass(frozen=True)
class Board:
    """Rows on one axis. `certified` and `banded` say which signs the key has to explain."""

    axis: Axis
    lines: tuple[Line, ...]
    certified: bool
    sampled: bool
    banded: bool


def draw(board: models.Board, rows: Sequence[BoardRow]) -> Board:
    """Draw the forest plot of some rows of the board."""
    reads = queries.scale(board)
    tied = [
        Tied(each.value, each.sampling, each.teams)
        for each in queries.score_counts(board)
        if each.sampling
    ]
    shared = {
        score: Interval(interval.low, interval.high) for score, interval in bands(tied).items()
    }
    estimates = [_estimate(row, shared) for row in rows]
    plot = forest(estimates, Interval(*sorted((reads.worst, reads.best))))
    lines = (
        Line(row, mark, _reach(row), _alternative(row, reads))
        for row, mark in zip(rows, plot.marks, strict=True)
    )
    known = [each for each in estimates if each]
    return Board(
        axis=plot.axis,
        lines=tuple(lines),
        certified=any(each.certificate for each in known),
        sampled=any(each.sampling for each in known),
        banded=any(each.band for each in known),
    )


def around(page: BoardPage) -> list[BoardRow]:
    """Return the person's row with its neighbours on the same page."""
    if page.my_row is None:
        return []
    rank = page.my_row.rank
    return [row for row in page.rows if abs(row.rank - rank) <= NEIGHBOURS]


def history(board: models.Board) -> StepChart | None:
    """Draw the chart of the leading scores over time."""
    steps = queries.leading_steps(board, CHART_TEAMS)
    if not steps:
        return None
    now = timezone.now()
    end = max(min(now, board.round.closes_at or now), steps[-1].at)
    start = steps[0].at
    margin = max((end - start) * 0.02, timedelta(seconds=30))
    return step_chart(_series(steps, queries.scale(board)), start - margin, end + margin / 4)


def _estimate(row: BoardRow, shared: dict[float, Interval]) -> Estimate | None:
    if row.value is None:
        return None
    return Estimate(row.value, row.sampling, row.certificate, shared.get(row.value))


def _reach(row: BoardRow) -> str:
    if row.value is None:
        return ""
    if row.certificate is None:
        return "none"
    return f"±{queries.reach(row.certificate, row.value)}"


def _alternative(row: BoardRow, reads: Scale) -> str:
    if row.score is None:
        return "nothing released yet"
    places = max(reads.decimals, 2)
    parts = [row.score]
    for name, each in (("sampling error", row.sampling), ("guarantee", row.certificate)):
        parts.append(
            f"{name} {each.low:.{places}f} to {each.high:.{places}f}" if each else f"no {name}"
        )
    return "; ".join(parts)


def _series(steps: Sequence[Step], reads: Scale) -> list[Series]:
    by_team: dict[int, list[Step]] = {}
    for step in steps:
        by_team.setdefault(step.team_id, []).append(step)
    sign = -1 if reads.maximize else 1
    leaders = sorted(by_team.values(), key=lambda own: (sign * own[-1].value, own[-1].at))
    return [Series(own[-1].team, tuple((step.at, step.value) for step in own)) for own in leaders]
