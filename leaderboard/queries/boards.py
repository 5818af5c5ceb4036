"""The board: made of released values only, ranked by them; equal scores share a rank.

Who was first stands above the others of its rank.

The database orders, searches and pages. Where a page begins, and which place a team has, follows
from the counts of the levels (`ledger.levels`), so that both cost the same on every page.
"""

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Final

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from leaderboard.access import Person, may_see_others
from leaderboard.models import Board, LevelCount, Sanction, Standing, Team, User
from leaderboard.platform.statements import prepared, prepared_part
from leaderboard.queries.baselines import baselines
from leaderboard.queries.board_rows import FIELDS, BoardRow, Record, RowMaker, read
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.paging import PAGE_ROWS, Mine, RankedPage, Span, page_of
from leaderboard.queries.scales import scale
from scoring import mechanisms

_FEW_FOUND: Final = 1000
BoardPage = RankedPage[BoardRow]


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


def near(ranking: "TeamRanking", team: int, beside: int) -> list[BoardRow]:
    """Return a team's row, marked, with so many others on either side; none if it has none."""
    mine = ranking.row_of(team)
    if mine is None:
        return []
    first = max(0, mine.position - 1 - beside)
    rows = ranking.rows("", first, mine.position + beside - first)
    return [replace(row, mine=row.team_id == team) for row in rows]


def whole_board(board: Board, user: Person) -> Iterator[BoardRow]:
    """Return every row, for the CSV: read from the database as they are asked for."""
    if not may_see_others(user, board.round.competition):
        yield from _OwnRow(board, user).rows("", 0, 1)
        return
    make = RowMaker(board, my_team(board, user))
    counts = Counter[float | None]()
    for loss, teams in board.level_counts.values_list("loss", "teams"):
        counts[loss] += teams
    ranked = ((False, row) for row in chain(*map(read, _parts(board))))
    apart = ((True, row) for row in read(baselines(board)))
    # Rows may be new since the levels were counted: places follow from the rows.
    ranks, place = dict[float | None, int](), 0
    for is_apart, row in heapq.merge(ranked, apart, key=lambda each: _depth(each[1].loss)):
        if is_apart:
            yield make(None, row, tied=False)
            continue
        place += 1
        yield make(ranks.setdefault(row.loss, place), row, tied=counts[row.loss] > 1)


def _depth(loss: float | None) -> tuple[bool, float]:
    return loss is None, loss or 0.0


def board_row(board: Board, user: Person) -> BoardRow | None:
    """Return the person's own row."""
    mine = _ranking(board, user).mine()
    return mine.row if mine else None


def team_row(board: Board, team: Team, user: Person) -> tuple[BoardRow | None, int]:
    """Return a team's row, as the person sees it, and how many teams there are."""
    ranking = _ranking(board, user)
    found = ranking.row_of(team.pk)
    return (found.row if found else None), ranking.count("")


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


def _parts(board: Board | int) -> tuple[QuerySet[Standing], QuerySet[Standing]]:
    """Return the ranked rows with a score and those without, each in the order of the index."""
    ranked = Standing.objects.filter(board=board, is_ranked=True)
    return (
        ranked.filter(loss__isnull=False).order_by("loss", "reached_at", "pk"),
        ranked.filter(loss__isnull=True).order_by("reached_at", "pk"),
    )


class _OwnRow:
    """What there is to see of a board for those who may not know of other teams."""

    span = None

    def __init__(self, board: Board, user: Person) -> None:
        self.standings = board.standings.filter(team=my_team(board, user))
        self.make = RowMaker(board, my_team(board, user), alone=True)

    def count(self, search: str) -> int:
        return len(self.rows(search, 0, 1))

    def rows(self, search: str, first: int, count: int) -> list[BoardRow]:
        found = self.standings.filter(team__name__icontains=search)
        return [self.make(None, row) for row in read(found.order_by())][first : first + count]

    def mine(self) -> Mine[BoardRow] | None:
        return next((Mine(1, row) for row in self.rows("", 0, 1)), None)

    def row_of(self, team: int) -> Mine[BoardRow] | None:
        return self.mine() if team == self.make.my_team else None


class TeamRanking:
    """The board's order, for those who may know of every team; `my_team` is marked in it.

    `ends` is how many teams stand down to the end of each count, `teams` how many share a loss.
    """

    def __init__(self, board: Board, my_team: int | None = None) -> None:
        self.board = board
        self.counts = _level_counts(board=board.pk)
        self.ends = list(accumulate(teams for _, _, teams in self.counts))
        self.levels = [_depth(loss) for loss, _, _ in self.counts]
        self.teams = Counter[float | None]()
        for loss, _, teams in self.counts:
            self.teams[loss] += teams
        self.my_team = my_team
        self.make = RowMaker(board, self.my_team)

    @property
    def span(self) -> Span:
        """Return the first and the last score of the board."""
        scored = [loss for loss in self.teams if loss is not None]
        return (
            (self.make.reads.score(scored[0]), self.make.reads.score(scored[-1]))
            if scored
            else None
        )

    def count(self, search: str) -> int:
        if search:
            return self._named(search).count()
        return self.ends[-1] if self.ends else 0

    def rows(self, search: str, first: int, count: int) -> list[BoardRow]:
        if search:
            order = F("loss").asc(nulls_last=True), "reached_at", "pk"
            found = self._named(search).order_by(*order).values_list("pk", flat=True)
            keys = list(found[first : first + count])
        else:
            keys = self._keys(first, count)
        rows = [self._row(record) for record in self._records(keys)]
        # Baselines stand between the rows: each below as many teams as have its score or better.
        for above, record in reversed(self._baselines(search)):
            end = first + count
            if first <= above and (above < end or end >= self.count(search)):
                rows.insert(above - first, self.make(None, record))
        return rows

    def mine(self) -> Mine[BoardRow] | None:
        return None if self.my_team is None else self.row_of(self.my_team)

    def row_of(self, team: int) -> Mine[BoardRow] | None:
        for row in map(Record._make, _own_rows(board=self.board.pk, team=team)):
            return Mine(self._place(row), self._row(row), self._to_next(row.loss))
        return None

    def _row(self, record: Record) -> BoardRow:
        better = bisect_left(self.levels, _depth(record.loss))
        rank = 1 + (self.ends[better - 1] if better else 0)
        return self.make(rank, record, tied=self.teams[record.loss] > 1)

    def _to_next(self, loss: float | None) -> str:
        """Return how far the next better score is."""
        better = [each for each in self.teams if each is not None and (loss is None or each < loss)]
        if loss is None or not better:
            return ""
        reads = self.make.reads
        return f"{abs(reads.score(better[-1]) - reads.score(loss)):.{reads.decimals}f}"

    @cached_property
    def _apart(self) -> list[Record]:
        return list(read(baselines(self.board))) if _has_unranked(board=self.board.pk) else []

    def _baselines(self, search: str) -> list[tuple[int, Record]]:
        """Return the baselines in their order, each with how many teams stand above it."""
        found = self._apart
        if search:
            found = list(read(baselines(self.board).filter(team__name__icontains=search)))
        if not found:
            return []
        if search:
            above = {
                f"above_{row.key}": Count("pk", filter=Q(loss__lte=row.loss))
                for row in found
                if row.loss is not None
            }
            teams = self._named(search).order_by().aggregate(all=Count("pk"), **above)
            return [(teams.get(f"above_{row.key}", teams["all"]), row) for row in found]
        losses = [math.inf if loss is None else loss for loss, _, _ in self.counts]
        ends = [0, *self.ends]
        return [
            (ends[-1 if row.loss is None else bisect_right(losses, row.loss)], row) for row in found
        ]

    def _named(self, search: str) -> QuerySet[Standing]:
        return self.board.standings.filter(named(self.board, search), is_ranked=True)

    def _records(self, keys: list[int]) -> list[Record]:
        """Return some rows in the order of their keys: only these are joined with others."""
        found = {row.key: row for row in map(Record._make, _rows(keys=keys))}
        return [found[key] for key in keys if key in found]

    def _keys(self, first: int, count: int) -> list[int]:
        """Return the keys of a page: from within a level, then of the next ones."""
        part = bisect_right(self.ends, first)
        if part == len(self.ends):
            return []
        loss, since, teams = self.counts[part]
        skipped, count = first - (self.ends[part] - teams), min(count, self.ends[-1] - first)
        board, keys = self.board.pk, list[int]()
        if loss is not None:
            keys += _scored_keys(skipped, count, board=board, loss=loss, since=since)
            if len(keys) < count:
                keys += _worse_keys(0, count - len(keys), board=board, loss=loss)
            skipped, since = 0, min(moment for _, moment, _ in self.counts)
        if len(keys) < count:
            keys += _unscored_keys(skipped, count - len(keys), board=board, since=since)
        return keys

    def _place(self, row: Record) -> int:
        """Return where a row stands: behind those of better levels, and who was first."""
        starts = [(*_depth(loss), since) for loss, since, _ in self.counts]
        part = bisect_right(starts, (*_depth(row.loss), row.reached_at)) - 1
        above = self.ends[part - 1] if part > 0 else 0
        within = _earlier_unscored if row.loss is None else _earlier_scored
        return above + next(iter(within(key=row.key)), 0) + 1


@prepared
def _level_counts(board: int) -> QuerySet[LevelCount, tuple[float | None, datetime, int]]:
    return LevelCount.objects.filter(board=board).values_list("loss", "since", "teams")


@prepared
def _has_unranked(board: int) -> QuerySet[Standing, int]:
    unranked = Standing.objects.filter(board=board, is_ranked=False).order_by()
    return unranked.values_list("pk", flat=True)[:1]


@prepared
def _rows(keys: list[int]) -> QuerySet[Standing, tuple[Any, ...]]:
    return Standing.objects.filter(pk__in=keys).order_by().values_list(*FIELDS)


@prepared_part
def _scored_keys(board: int, loss: float, since: datetime) -> QuerySet[Standing, int]:
    scored = _parts(board)[0].filter(loss=loss, reached_at__gte=since)
    return scored.values_list("pk", flat=True)


@prepared_part
def _worse_keys(board: int, loss: float) -> QuerySet[Standing, int]:
    return _parts(board)[0].filter(loss__gt=loss).values_list("pk", flat=True)


@prepared_part
def _unscored_keys(board: int, since: datetime) -> QuerySet[Standing, int]:
    return _parts(board)[1].filter(reached_at__gte=since).values_list("pk", flat=True)


@prepared
def _own_rows(board: int, team: int) -> QuerySet[Standing, tuple[Any, ...]]:
    own = Standing.objects.filter(board=board, team=team, is_ranked=True)
    return own.order_by().values_list(*FIELDS)


@prepared
def _earlier_scored(key: int) -> QuerySet[Standing, int]:
    return _earlier(key, Q(loss=OuterRef("loss")), Q(loss=OuterRef(OuterRef("loss"))))


@prepared
def _earlier_unscored(key: int) -> QuerySet[Standing, int]:
    return _earlier(key, Q(loss__isnull=True), Q(loss__isnull=True))


def _earlier(key: int, level: Q, counted: Q) -> QuerySet[Standing, int]:
    """Return how many stand above a row in its own count of a level."""
    begins = LevelCount.objects.filter(
        counted, board=OuterRef(OuterRef("board")), since__lte=OuterRef(OuterRef("reached_at"))
    ).order_by("-since")
    earlier = Q(reached_at__lt=OuterRef("reached_at")) | Q(
        reached_at=OuterRef("reached_at"), pk__lt=OuterRef("pk")
    )
    above = Standing.objects.filter(
        level,
        earlier,
        board=OuterRef("board"),
        is_ranked=True,
        reached_at__gte=Subquery(begins.values("since")[:1]),
        reached_at__lte=OuterRef("reached_at"),
    ).order_by()
    number = above.values("board").annotate(teams=Count("pk")).values("teams")
    found = Standing.objects.filter(pk=key).order_by()
    return found.annotate(above=Coalesce(Subquery(number), 0)).values_list("above", flat=True)


def _ranking(board: Board, user: Person) -> TeamRanking | _OwnRow:
    seen = may_see_others(user, board.round.competition)
    return TeamRanking(board, my_team(board, user)) if seen else _OwnRow(board, user)
