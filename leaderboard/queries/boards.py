"""The board: made of released values only, ranked by them; equal scores share a rank.

Who was first stands above the others of its rank.

The database orders, searches and pages. Where a page begins, and which place a team has, follows
from the counts of the levels (`ledger.levels`), so that both cost the same on every page.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import accumulate, chain, groupby
from operator import itemgetter
from typing import Final, NamedTuple

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board, Holdout, LevelCount, Sanction, Standing, Team, User
from leaderboard.queries.certificates import certificate_interval
from leaderboard.queries.duels import surely_better
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.paging import PAGE_ROWS, RankedPage, page_of
from leaderboard.queries.scales import Interval, sampling_interval, scale
from scoring import mechanisms

_FEW_FOUND: Final = 1000


@dataclass(frozen=True)
class BoardRow:
    """A team on the board. `value` and the intervals are scores; None: nothing released yet.

    `rank` is None while the board is hidden, and so is `entry`, the number of the score's ledger
    entry. `version` is that of the solution that the score was released on, `earlier` whether it
    has been revised since. `apart`: the guarantee holds if teams don't share answers.
    `surely_better` names the teams whose scores it surely beats, by duels.
    """

    rank: int | None
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    score: str | None
    value: float | None
    sampling: Interval | None
    certificate: Interval | None
    entry: int | None
    entries: int
    improved_at: datetime | None
    last_kind: str
    last_at: datetime
    version: int
    earlier: bool
    apart: bool
    mine: bool
    surely_better: tuple[str, ...] = ()


BoardPage = RankedPage[BoardRow]


@dataclass(frozen=True)
class ScoreCount:
    """A score on the board, its sampling interval if it has one, and how many teams have it."""

    value: float
    sampling: Interval | None
    teams: int


@dataclass(frozen=True)
class Step:
    """A new best released score of a team, at a moment: the board's history."""

    team_id: int
    team: str
    at: datetime
    value: float
    score: str


def board(
    board: Board,
    user: Person,
    *,
    page: int = 1,
    search: str = "",
    page_rows: int = PAGE_ROWS,
) -> BoardPage:
    """Return a page of the board, ranked by released value; equal ones in order of time.

    A person who may not know of other teams gets its own row alone, without a rank.
    """
    return page_of(_ranking(board, user), page, search, page_rows)


def whole_board(board: Board, user: Person) -> Iterator[BoardRow]:
    """Return every row, for the CSV: read from the database as they are asked for."""
    if not may_see_others(user, board.round.competition):
        yield from _OwnRow(board, user).rows("", 0, 1)
        return
    make = _RowMaker(board, my_team(board, user))
    ranks = dict[float | None, int]()
    for position, row in enumerate(chain(*map(_read, _parts(board))), start=1):
        yield make(ranks.setdefault(row.loss, position), row)


def board_row(board: Board, user: Person) -> BoardRow | None:
    """Return the person's own row."""
    mine = _ranking(board, user).mine()
    return mine[1] if mine else None


def my_team(board: Board, user: Person) -> int | None:
    """Return the key of the person's team."""
    if not isinstance(user, User):
        return None
    own = user.memberships.active().filter(competition=board.round.competition_id)
    return own.values_list("team", flat=True).first()


def named(board: Board, search: str) -> Q:
    """Return what finds the rows of teams whose names contain a text.

    Few teams are looked up by their keys, so that names are read once and not with each row.
    """
    teams = Team.objects.filter(
        competition=board.round.competition_id, name__icontains=search
    ).order_by()
    keys = list(teams.values_list("pk", flat=True)[: _FEW_FOUND + 1])
    return Q(team__in=keys) if len(keys) <= _FEW_FOUND else Q(team__name__icontains=search)


def score_counts(board: Board, user: Person) -> list[ScoreCount]:
    """Return the scores on the board, best first: at most as many as the grid has levels.

    None for those who may not know of other teams.
    """
    if not may_see_others(user, board.round.competition):
        return []
    reads, holdout = scale(board), board.round.active_holdout
    counts = board.level_counts.filter(loss__isnull=False).values_list("loss", "teams")
    return [
        ScoreCount(
            value=reads.score(loss),
            sampling=sampling_interval(reads, holdout, loss),
            teams=sum(teams for _, teams in level),
        )
        for loss, level in groupby(counts, key=itemgetter(0))
    ]


def leading_steps(board: Board, user: Person, teams: int = 8) -> list[Step]:
    """Return when the teams that lead now reached each of their best scores, oldest first.

    Those of the own team for somebody who may not know of others.
    """
    leaders = _parts(board)[0][:teams]
    if not may_see_others(user, board.round.competition):
        leaders = board.standings.filter(team=my_team(board, user))
    names = dict(leaders.values_list("team_id", "team__name"))
    reads, mechanism = scale(board), mechanisms.get(board.mechanism)
    best = dict[int, int]()
    steps = list[Step]()
    releases = board.releases.filter(
        submission__team__in=list(names),  # also what a team had sent that was merged into one
        kind__in=[each.code for each in mechanism.kinds if each.shows == "own"],
        holdout__retired_at__isnull=True,
        submission__is_practice=False,
    ).exclude(submission__in=Sanction.objects.at().of_submissions().values("submission"))
    for entry in releases.select_related("submission").order_by("number"):
        team = entry.submission.team_id
        if entry.level is not None and entry.level < best.get(team, entry.steps + 1):
            best[team] = entry.level
            loss = entry.level / entry.steps
            at = to_the_second(entry.created_at)
            steps.append(Step(team, names[team], at, reads.score(loss), reads.text(loss)))
    return steps


_FIELDS = (
    *("pk", "team", "team__name", "team__is_baseline", "team__is_verified"),
    *("loss", "reached_at", "entries", "best__number", "best__low"),
    *("best__high", "best__holdout"),
    *("last__kind", "last__created_at", "last__holdout"),
)


class _Record(NamedTuple):
    """A row of the board as it is stored."""

    key: int
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    loss: float | None
    reached_at: datetime
    entries: int
    entry: int | None
    low: float | None
    high: float | None
    best_holdout: int | None
    last_kind: str
    last_at: datetime
    last_holdout: int


def _parts(board: Board) -> tuple[QuerySet[Standing], QuerySet[Standing]]:
    """Return the ranked rows with a score and those without, each in the order of the index."""
    ranked = board.standings.filter(is_ranked=True)
    return (
        ranked.filter(loss__isnull=False).order_by("loss", "reached_at", "pk"),
        ranked.filter(loss__isnull=True).order_by("reached_at", "pk"),
    )


def _read(rows: QuerySet[Standing]) -> Iterator[_Record]:
    return map(_Record._make, rows.values_list(*_FIELDS).iterator())


class _OwnRow:
    """What there is to see of a board for those who may not know of other teams."""

    def __init__(self, board: Board, user: Person) -> None:
        self.standings = board.standings.filter(team=my_team(board, user))
        self.make = _RowMaker(board, my_team(board, user))

    def count(self, search: str) -> int:
        return len(self.rows(search, 0, 1))

    def rows(self, search: str, first: int, count: int) -> list[BoardRow]:
        found = self.standings.filter(team__name__icontains=search)
        return [self.make(None, row) for row in _read(found.order_by())][first : first + count]

    def mine(self) -> tuple[int, BoardRow] | None:
        return next(((1, row) for row in self.rows("", 0, 1)), None)


class _Ranking:
    """The board's order.

    `ends` is how many teams stand down to the end of each count, `ranks` the rank of each loss.
    """

    def __init__(self, board: Board, user: Person) -> None:
        self.board = board
        self.counts = list(board.level_counts.values_list("loss", "since", "teams"))
        self.ends = list(accumulate(teams for _, _, teams in self.counts))
        self.ranks = dict[float | None, int]()
        for (loss, _, teams), end in zip(self.counts, self.ends, strict=True):
            self.ranks.setdefault(loss, end - teams + 1)
        self.my_team = my_team(board, user)
        self.make = _RowMaker(board, self.my_team)

    def count(self, search: str) -> int:
        if search:
            return self._named(search).count()
        return self.ends[-1] if self.ends else 0

    def rows(self, search: str, first: int, count: int) -> list[BoardRow]:
        keys: Iterable[int]
        if search:
            order = F("loss").asc(nulls_last=True), "reached_at", "pk"
            found = self._named(search).order_by(*order).values_list("pk", flat=True)
            keys = found[first : first + count]
        else:
            keys = self._keys(first, count)
        return [self.make(self.ranks[row.loss], row) for row in self._records(keys)]

    def mine(self) -> tuple[int, BoardRow] | None:
        if self.my_team is None:
            return None
        own = self.board.standings.filter(team=self.my_team, is_ranked=True).order_by()
        found = self._records(own.values_list("pk", flat=True))
        places = self._places(found)
        rows = ((places[row.key], self.make(self.ranks[row.loss], row)) for row in found)
        return next(rows, None)

    def _named(self, search: str) -> QuerySet[Standing]:
        return self.board.standings.filter(named(self.board, search), is_ranked=True)

    def _records(self, keys: Iterable[int]) -> list[_Record]:
        """Return some rows in the order of their keys: only these are joined with others."""
        keys = list(keys)
        found = {row.key: row for row in _read(Standing.objects.filter(pk__in=keys).order_by())}
        return [found[key] for key in keys if key in found]

    def _keys(self, first: int, count: int) -> list[int]:
        """Return the keys of a page: from within a level, then of the next ones."""
        part = bisect_right(self.ends, first)
        if part == len(self.ends):
            return []
        loss, since, teams = self.counts[part]
        scored, unscored = _parts(self.board)
        skipped = first - (self.ends[part] - teams)
        if loss is None:
            pieces = [unscored.filter(reached_at__gte=since)[skipped:]]
        else:
            begun = scored.filter(loss=loss, reached_at__gte=since)[skipped:]
            pieces = [begun, scored.filter(loss__gt=loss), unscored]
        keys = list[int]()
        for piece in pieces:
            if len(keys) < min(count, self.ends[-1] - first):
                keys += piece.values_list("pk", flat=True)[: count - len(keys)]
        return keys

    def _places(self, found: list[_Record]) -> dict[int, int]:
        """Return where some rows stand, by their keys: who is on better levels, and was first."""
        starts = [(loss is None, loss or 0.0, since) for loss, since, _ in self.counts]
        within = self._within(found)
        places = dict[int, int]()
        for row in found:
            part = bisect_right(starts, (row.loss is None, row.loss or 0.0, row.reached_at)) - 1
            above = self.ends[part - 1] if part > 0 else 0
            places[row.key] = above + within.get(row.key, 0) + 1
        return places

    def _within(self, found: list[_Record]) -> dict[int, int]:
        """Return how many stand above each row in its own count of a level."""
        within = dict[int, int]()
        for unscored in {row.loss is None for row in found}:
            level = Q(loss__isnull=True) if unscored else Q(loss=OuterRef("loss"))
            outer = Q(loss__isnull=True) if unscored else Q(loss=OuterRef(OuterRef("loss")))
            begins = LevelCount.objects.filter(
                outer, board=self.board, since__lte=OuterRef(OuterRef("reached_at"))
            ).order_by("-since")
            earlier = Q(reached_at__lt=OuterRef("reached_at")) | Q(
                reached_at=OuterRef("reached_at"), pk__lt=OuterRef("pk")
            )
            above = Standing.objects.filter(
                level,
                earlier,
                board=self.board,
                is_ranked=True,
                reached_at__gte=Subquery(begins.values("since")[:1]),
                reached_at__lte=OuterRef("reached_at"),
            ).order_by()
            number = above.values("board").annotate(teams=Count("pk")).values("teams")
            keys = [row.key for row in found if (row.loss is None) == unscored]
            rows = Standing.objects.filter(pk__in=keys).order_by()
            counted = rows.annotate(above=Subquery(number)).values_list("pk", "above")
            within |= {key: teams or 0 for key, teams in counted}
        return within


def _ranking(board: Board, user: Person) -> _Ranking | _OwnRow:
    seen = may_see_others(user, board.round.competition)
    return _Ranking(board, user) if seen else _OwnRow(board, user)


class _RowMaker:
    """Make board rows; look up once what all rows share, and read each score once."""

    def __init__(self, board: Board, my_team: int | None) -> None:
        self.my_team = my_team
        self.reads = scale(board)
        self.apart = board.round.is_hidden
        self.holdouts = Holdout.objects.filter(ledger=board.round.ledger_id).in_bulk()
        self.score = cache(self._score)
        self.beaten = surely_better(board)

    def __call__(self, rank: int | None, row: _Record) -> BoardRow:
        holdout = self.holdouts[row.best_holdout or row.last_holdout]
        text, value, sampling = self.score(row.loss, holdout.pk)
        return BoardRow(
            rank=rank,
            team_id=row.team_id,
            team=row.team,
            is_baseline=row.is_baseline,
            is_verified=row.is_verified,
            score=text,
            value=value,
            sampling=sampling,
            certificate=certificate_interval(self.reads, row),
            entry=None if rank is None else row.entry,
            entries=row.entries,
            improved_at=None if row.loss is None else row.reached_at,
            last_kind=row.last_kind,
            last_at=to_the_second(row.last_at),
            version=holdout.version,
            earlier=holdout.retired_at is not None,
            apart=self.apart,
            mine=row.team_id == self.my_team,
            surely_better=self.beaten.get(row.key, ()),
        )

    def _score(
        self, loss: float | None, holdout: int
    ) -> tuple[str | None, float | None, Interval | None]:
        if loss is None:
            return None, None, None
        sampling = sampling_interval(self.reads, self.holdouts[holdout], loss)
        return self.reads.text(loss), self.reads.score(loss), sampling
