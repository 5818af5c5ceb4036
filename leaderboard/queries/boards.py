"""The board: made of released values only, ranked by them, ties by who was first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Q, QuerySet

from leaderboard.access import Person
from leaderboard.models import (
    Competition,
    Kind,
    Release,
    Standing,
    User,
)
from leaderboard.queries.certificates import certificate_interval
from leaderboard.queries.competitions import holdout_in_force
from leaderboard.queries.moments import to_the_second
from leaderboard.queries.scales import Interval, sampling_interval, scale

PAGE_ROWS = 50


@dataclass(frozen=True)
class BoardRow:
    """A team on the board. `value` and the intervals are scores; None: nothing released yet.

    `version` is that of the solution that the score was released on, `earlier` whether it has been
    corrected since.
    """

    rank: int
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    score: str | None
    value: float | None
    sampling: Interval | None
    certificate: Interval | None
    entries: int
    improved_at: datetime | None
    last_kind: Kind
    last_at: datetime
    version: int
    earlier: bool
    mine: bool


@dataclass(frozen=True)
class BoardPage:
    """One page of the board. `my_row` is the person's row wherever it stands."""

    rows: tuple[BoardRow, ...]
    page: int
    pages: int
    total: int
    search: str
    my_row: BoardRow | None
    my_page: int | None


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
    competition: Competition,
    user: Person,
    *,
    page: int = 1,
    search: str = "",
    page_rows: int = PAGE_ROWS,
) -> BoardPage:
    """A page of the board, ranked by released value, ties by who was first."""
    ranked = _ranked(competition)
    shown = ranked.filter(team__name__icontains=search) if search else ranked
    total = shown.count()
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    first = (page - 1) * page_rows
    standings = list(shown[first : first + page_rows])
    mine = _my_standing(competition, user)
    ranks = (
        _ranks(ranked, standings) if search else list(range(first + 1, first + 1 + len(standings)))
    )
    make = _RowMaker(competition, mine.team_id if mine else None)
    my_rank = _rank(ranked, mine) if mine else None
    return BoardPage(
        rows=tuple(make(rank, each) for rank, each in zip(ranks, standings, strict=True)),
        page=page,
        pages=pages,
        total=total,
        search=search,
        my_row=make(my_rank, mine) if mine and my_rank else None,
        my_page=math.ceil(my_rank / page_rows) if my_rank else None,
    )


def whole_board(competition: Competition, user: Person) -> list[BoardRow]:
    """Every row, for the CSV."""
    mine = _my_standing(competition, user)
    make = _RowMaker(competition, mine.team_id if mine else None)
    return [make(rank, each) for rank, each in enumerate(_ranked(competition), start=1)]


def board_row(competition: Competition, user: Person) -> BoardRow | None:
    """The person's own row."""
    mine = _my_standing(competition, user)
    if mine is None:
        return None
    return _RowMaker(competition, mine.team_id)(_rank(_ranked(competition), mine), mine)


def score_counts(competition: Competition) -> list[ScoreCount]:
    """The scores on the board, best first: at most as many as the grid has levels."""
    reads, holdout = scale(competition), holdout_in_force(competition)
    counts = (
        Standing.objects.filter(competition=competition, loss__isnull=False)
        .values("loss")
        .annotate(teams=Count("pk"))
        .order_by("loss")
        .values_list("loss", "teams")
    )
    return [
        ScoreCount(
            value=reads.score(loss),
            sampling=sampling_interval(reads, holdout, loss),
            teams=teams,
        )
        for loss, teams in counts
        if loss is not None
    ]


def leading_steps(competition: Competition, teams: int = 8) -> list[Step]:
    """When the teams that lead now reached each of their best scores, oldest first."""
    leaders = _ranked(competition).filter(loss__isnull=False)[:teams]
    ids = [standing.team_id for standing in leaders]
    reads = scale(competition)
    best = dict[int, int]()
    steps = list[Step]()
    releases = Release.objects.filter(
        team__in=ids,
        kind__in=(Kind.IMPROVED, Kind.CONFIRMED, Kind.CORRECTED),
        holdout__retired_at__isnull=True,
    )
    for entry in releases.select_related("team").order_by("number"):
        if entry.level is not None and entry.level < best.get(entry.team_id, entry.steps + 1):
            best[entry.team_id] = entry.level
            loss = entry.level / entry.steps
            steps.append(
                Step(
                    entry.team_id,
                    entry.team.name,
                    to_the_second(entry.created_at),
                    reads.score(loss),
                    reads.text(loss),
                )
            )
    return steps


def _ranked(competition: Competition) -> QuerySet[Standing]:
    return (
        Standing.objects.filter(competition=competition)
        .select_related("team", "best", "last")
        .order_by(F("loss").asc(nulls_last=True), "reached_at", "pk")
    )


def _ranks(ranked: QuerySet[Standing], some: Sequence[Standing]) -> list[int]:
    """The ranks of some rows, by one query over the keys of all."""
    places = {key: place for place, key in enumerate(ranked.values_list("pk", flat=True), start=1)}
    return [places[standing.pk] for standing in some]


def _rank(ranked: QuerySet[Standing], standing: Standing) -> int:
    """One more than the number of teams above."""
    earlier = Q(reached_at__lt=standing.reached_at) | Q(
        reached_at=standing.reached_at, pk__lt=standing.pk
    )
    if standing.loss is None:
        above = Q(loss__isnull=False) | (Q(loss__isnull=True) & earlier)
    else:
        above = Q(loss__lt=standing.loss) | (Q(loss=standing.loss) & earlier)
    return ranked.filter(above).count() + 1


def _my_standing(competition: Competition, user: Person) -> Standing | None:
    if not isinstance(user, User):
        return None
    return _ranked(competition).filter(team__memberships__user=user).first()


class _RowMaker:
    """Makes board rows; looks up once what all rows share."""

    def __init__(self, competition: Competition, my_team: int | None) -> None:
        self.my_team = my_team
        self.reads = scale(competition)
        self.holdouts = {holdout.pk: holdout for holdout in competition.holdouts.all()}

    def __call__(self, rank: int, standing: Standing) -> BoardRow:
        best, loss = standing.best, standing.loss
        holdout = self.holdouts[(best or standing.last).holdout_id]
        return BoardRow(
            rank=rank,
            team_id=standing.team_id,
            team=standing.team.name,
            is_baseline=standing.team.is_baseline,
            is_verified=standing.team.is_verified,
            score=None if loss is None else self.reads.text(loss),
            value=None if loss is None else self.reads.score(loss),
            sampling=None if loss is None else sampling_interval(self.reads, holdout, loss),
            certificate=certificate_interval(self.reads, holdout, best),
            entries=standing.entries,
            improved_at=standing.reached_at if loss is not None else None,
            last_kind=Kind(standing.last.kind),
            last_at=to_the_second(standing.last.created_at),
            version=holdout.version,
            earlier=holdout.retired_at is not None,
            mine=standing.team_id == self.my_team,
        )
