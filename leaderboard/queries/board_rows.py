"""A team's row of a board, made of what is stored of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.models import Board, DayStart, Holdout, Standing
from leaderboard.platform.statements import prepared
from leaderboard.queries.certificates import certificate_interval
from leaderboard.queries.duels import surely_better, wins
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.scales import Interval, sampling_interval, scale


@dataclass(frozen=True)
class BoardRow:
    """A team on the board. `value` and the intervals are scores; None: nothing released yet.

    `rank` is None for a baseline, which is no team, and while the board is hidden, and so is
    `entry`, the number of the score's ledger entry. `tied`: others have that rank too. `change` is
    how many places the team went up since the day (UTC) began, negative for down; None where it had
    no place then. `curve` has its best losses so far, each behind its moment in seconds.
    `version` is that of the solution that the score was released on, `earlier` whether it
    has been revised since. `apart`: the guarantee holds if teams don't share answers.
    `entries` are the team's scored files, `variants` those of them that predict something else.
    `runs` of a model are behind the score, `spread` is the standard deviation of their scores on
    the Public rows; None where nothing is known of it.
    `surely_better` names the teams whose scores it surely beats, by duels.
    """

    rank: int | None
    tied: bool
    change: int | None
    team_id: int
    uid: str
    team: str
    is_baseline: bool
    is_verified: bool
    score: str | None
    value: float | None
    sampling: Interval | None
    certificate: Interval | None
    entry: int | None
    entries: int
    variants: int
    runs: int | None
    spread: float | None
    improved_at: datetime | None
    curve: tuple[tuple[int, float], ...]
    last_kind: str
    last_at: datetime
    version: int
    earlier: bool
    apart: bool
    mine: bool
    surely_better: tuple[str, ...] = ()


FIELDS = (
    *("pk", "team", "team__uid", "team__name", "team__is_baseline", "team__is_verified"),
    *("loss", "reached_at", "entries", "variants", "curve", "moved_on", "place_before"),
    *("best__number", "best__low", "best__high", "best__holdout", "best__runs", "best__spread"),
    *("last__kind", "last__created_at", "last__holdout"),
)


class Record(NamedTuple):
    """A row of the board as it is stored."""

    key: int
    team_id: int
    uid: str
    team: str
    is_baseline: bool
    is_verified: bool
    loss: float | None
    reached_at: datetime
    entries: int
    variants: int
    curve: list[list[float]]
    moved_on: date | None
    place_before: int | None
    entry: int | None
    low: float | None
    high: float | None
    best_holdout: int | None
    runs: int | None
    spread: float | None
    last_kind: str
    last_at: datetime
    last_holdout: int


def rank_levels(counts: Iterable[tuple[float | None, int]]) -> dict[float | None, int]:
    """Return the rank of each loss, from how many teams have which, best first."""
    ranks, above = dict[float | None, int](), 0
    for loss, teams in counts:
        ranks.setdefault(loss, above + 1)
        above += teams
    return ranks


def read(rows: QuerySet[Standing]) -> Iterator[Record]:
    """Read rows as they are stored."""
    return map(Record._make, rows.values_list(*FIELDS).iterator())


@prepared
def _holdouts(ledger: int) -> QuerySet[Holdout]:
    return Holdout.objects.filter(ledger=ledger).order_by()


@prepared
def _day_starts(board: int) -> QuerySet[DayStart]:
    return DayStart.objects.filter(board=board).order_by()


class RowMaker:
    """Make board rows; look up once what all rows share, and read each score once."""

    def __init__(self, board: Board, my_team: int | None, *, alone: bool = False) -> None:
        """alone: the row is seen by those who may not know of others."""
        self.my_team, self.alone = my_team, alone
        self.reads = scale(board)
        self.apart = board.round.is_hidden
        found = _holdouts(ledger=board.round.ledger_id) if board.round.ledger_id else ()
        self.holdouts = {each.pk: each for each in found}
        self.score = cache(self._score)
        self.beaten = surely_better(wins(board))
        # Where no row has moved today, all stand as they did when the day began; where nothing
        # stood then, nothing has changed its place.
        self.today = timezone.now().astimezone(UTC).date()
        start = () if alone else _day_starts(board=board.pk)
        counts = next((each.counts for each in start if each.day == self.today), None)
        self.before = rank_levels(counts) if counts else None

    def __call__(self, rank: int | None, row: Record, *, tied: bool = False) -> BoardRow:
        """Return the row of a team with this rank; without one that of a baseline."""
        holdout = self.holdouts[row.best_holdout or row.last_holdout]
        text, value, sampling = self.score(row.loss, holdout.pk)
        return BoardRow(
            rank=rank,
            tied=tied,
            change=None if rank is None else self._change(rank, row),
            team_id=row.team_id,
            uid=row.uid,
            team=row.team,
            is_baseline=row.is_baseline,
            is_verified=row.is_verified,
            score=text,
            value=value,
            sampling=sampling,
            certificate=certificate_interval(self.reads, row),
            entry=None if self.alone else row.entry,
            entries=row.entries,
            variants=row.variants,
            runs=row.runs,
            spread=row.spread,
            improved_at=None if row.loss is None else row.reached_at,
            curve=tuple((int(at), loss) for at, loss in row.curve),
            last_kind=row.last_kind,
            last_at=to_the_second(row.last_at),
            version=holdout.version,
            earlier=holdout.retired_at is not None,
            apart=self.apart,
            mine=row.team_id == self.my_team,
            surely_better=self.beaten.get(row.key, ()),
        )

    def _change(self, rank: int, row: Record) -> int | None:
        if self.before is None:
            return 0
        moved = row.moved_on == self.today
        before = row.place_before if moved else self.before.get(row.loss)
        return None if before is None else before - rank

    def _score(
        self, loss: float | None, holdout: int
    ) -> tuple[str | None, float | None, Interval | None]:
        if loss is None:
            return None, None, None
        sampling = sampling_interval(self.reads, self.holdouts[holdout], loss)
        return self.reads.text(loss), self.reads.score(loss), sampling
