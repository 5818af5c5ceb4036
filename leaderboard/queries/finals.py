"""The end: what teams enter, how far the final scoring has come, and the final board."""

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from operator import attrgetter
from typing import Any, Final

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from leaderboard.access import Person
from leaderboard.models import (
    Board,
    FinalScore,
    FinalTests,
    Phase,
    Round,
    Sanction,
    Selection,
    Submission,
    Team,
)
from leaderboard.participate import selection
from leaderboard.participate.selection import entered
from leaderboard.pipeline.final_places import final_design, interval_beta, on_final_rows
from leaderboard.pipeline.final_tests import beta
from leaderboard.pipeline.finalize import FAILURE, Unfinished, unfinished
from leaderboard.platform.statements import prepared
from leaderboard.queries.boards import my_team, named
from leaderboard.queries.certificates import certificate_interval
from leaderboard.queries.paging import PAGE_ROWS, Mine, RankedPage, Span, page_of
from leaderboard.queries.rounds import titled
from leaderboard.queries.scales import SAMPLING_CONFIDENCE, Interval, finest_step, scale
from scoring import metrics
from scoring.guarantees.intervals import bonferroni_width, wilson_interval
from scoring.guarantees.rank_sets import count_heads

_CSV_ROWS: Final = 500
_NAMED: Final = 20


class Stage(Enum):
    """Where a competition is in its end."""

    RUNNING = "running"
    CHOOSING = "choosing"
    SCORING = "scoring"
    REVEALED = "revealed"


@dataclass(frozen=True)
class Choice:
    """What a team enters for the final scores, by numbers of its submissions.

    `stand_in` is what is entered as long as nothing is chosen; None before the first answer, and
    where `lost`: the file that would stand in was lost with a database.
    """

    limit: int
    numbers: tuple[int, ...]
    stand_in: int | None
    may_change: bool
    lost: bool = False

    @property
    def entered(self) -> tuple[int, ...]:
        """Return what the final scoring counts."""
        return self.numbers or (() if self.stand_in is None else (self.stand_in,))


@dataclass(frozen=True)
class Progress:
    """How far the end has come, for organizers. Of `teams` that have an answer `chose` chose what
    they enter. `failures` can't be measured, and say why; `worst` got the worst score, because a
    custom metric gave none."""

    stage: Stage
    before: Unfinished
    teams: int
    chose: int
    entered: int
    scored: int
    failures: tuple[Submission, ...]
    worst: tuple[Submission, ...]


@dataclass(frozen=True)
class FinalEntry:
    """An entered submission with its exact score: `loss` as a fraction of all there is to lose.

    `sampling` is the plain 95 % interval of this score alone, `interval` holds for all at once.
    """

    number: int
    is_chosen: bool
    loss: Fraction
    value: float
    score: str
    sampling: Interval | None
    interval: Interval | None


@dataclass(frozen=True)
class FinalRow:
    """A team on the final board, by the best of its entries; equal scores share a rank (`tied`).

    A baseline is no team, and has no rank. `best_place` to `worst_place` are the places that its
    expected score could have; None where there were no tests. `move` is how many places it went up
    from the released board, negative for down; None where that had no place for it.
    """

    rank: int | None
    tied: bool
    best_place: int | None
    worst_place: int | None
    team_id: int
    uid: str
    team: str
    is_baseline: bool
    is_verified: bool
    best: FinalEntry
    others: tuple[FinalEntry, ...]
    released_rank: int | None
    released_score: str | None
    move: int | None
    mine: bool

    @property
    def could_be_first(self) -> bool | None:
        """Return whether no team is surely better; None where there were no tests."""
        return None if self.best_place is None else self.best_place == 1


@dataclass(frozen=True)
class Moved:
    """A team's places on the released board and on the final one; None where it had none."""

    team: str
    before: int | None
    after: int
    mine: bool


@dataclass(frozen=True)
class FinalPlace:
    """A team's place on the final board of a round; `title` is empty where the first has none."""

    round: int
    title: str
    rank: int
    tied: bool
    total: int


@dataclass(frozen=True)
class FinalFacts:
    """What the final scores were measured on, and what intervals and places cover.

    `rows` are "final" or "private" ones; `effective` what they count as where they have weights.
    `width` is how far an interval reaches at most, as a loss, where all are alike. `reason` says
    why there is no interval; empty where there are. `tests` is the form of the tests that places
    rest on, empty where there were none; `heads` how many entries were compared with all others,
    None where all were; `could_be_first` how many teams nobody is surely better
    than, and `contenders` the names of the first of them.
    """

    rows: str
    count: int
    effective: int
    finalists: int
    teams: int
    baselines: int
    confidence: float
    width: float | None
    reason: str
    decimals: int
    tests: str
    heads: int | None
    could_be_first: int | None
    contenders: tuple[str, ...]

    @property
    def how(self) -> str:
        """Return what "could be first" follows from; the rest stands below the board."""
        return f"By tests of pairs of teams on the same rows, with {self.percent} confidence."

    @property
    def percent(self) -> str:
        """Return the confidence as people write it."""
        return f"{100 * self.confidence:.4g} %"

    @property
    def rest(self) -> str:
        """Return the share of competitions in which an interval may be wrong."""
        return f"{100 - 100 * self.confidence:.4g} %"


@dataclass(frozen=True)
class FinalBoard(RankedPage[FinalRow]):
    """A page of the final board."""

    facts: FinalFacts


def stage(round: Round) -> Stage:
    """Return where the end stands, from what the organizer did and the clock, nothing else."""
    if round.revealed_at is not None:
        return Stage.REVEALED
    if round.finals_started_at is not None:
        return Stage.SCORING
    closed = round.phase(timezone.now()) is Phase.CLOSED
    return Stage.CHOOSING if closed else Stage.RUNNING


def choice(team: Team) -> Choice:
    """Return what the team enters in the current round."""
    round = team.competition.current_round
    counted_at = round.revealed_at or timezone.now()
    numbers = _selected(team.pk, round.ledger_id, counted_at) if round.ledger_id else ()
    # Rounds that go on with the same rows have one end.
    by_default = selection.stand_in(round, team.pk)
    lost = by_default is not None and not by_default[1]
    return Choice(
        limit=round.finals_limit,
        numbers=tuple(numbers),
        stand_in=None if by_default is None or lost else by_default[0],
        may_change=round.finals_started_at is None,
        lost=lost,
    )


@prepared
def _selected(team: int, ledger: int, counted_at: datetime) -> QuerySet[Selection, int]:
    chosen = Selection.objects.filter(team=team, submission__round__ledger=ledger)
    held = Sanction.objects.at(counted_at).of_submissions()
    counted = chosen.exclude(submission__in=held.values("submission"))
    return counted.order_by("submission__number").values_list("submission__number", flat=True)


def progress(round: Round) -> Progress:
    """Return what an organizer sees of the end before the reveal."""
    known = entered(round)
    missing = known.filter(final_scores__isnull=True)
    noted = known.filter(failure__startswith=FAILURE).select_related("team")
    noted = noted.order_by("team__name", "number")
    return Progress(
        stage=stage(round),
        before=unfinished(round),
        teams=round.board.standings.filter(is_ranked=True).count(),
        chose=known.filter(Q(is_chosen=True)).values("team").distinct().count(),
        entered=known.count(),
        scored=known.count() - missing.count(),
        failures=tuple(noted.filter(final_scores__isnull=True)),
        worst=tuple(noted.filter(final_scores__isnull=False).distinct()),
    )


def final_board(
    round: Round,
    user: Person,
    *,
    page: int = 1,
    search: str = "",
    page_rows: int = PAGE_ROWS,
) -> FinalBoard:
    """Return a page of the final board. Whether it may be seen is for the caller to know."""
    ranking = FinalRanking(round.board, my_team(round.board, user))
    return final_page(ranking, page, search, page_rows)


def final_page(
    ranking: "FinalRanking", page: int, search: str = "", page_rows: int = PAGE_ROWS
) -> FinalBoard:
    """Return a page of a final board, and what is said of all of it."""
    return FinalBoard(
        **vars(page_of(ranking, page, search, page_rows)),
        facts=ranking.facts(),
    )


def final_row(round: Round, team: Team, user: Person) -> tuple[FinalRow | None, int]:
    """Return a team's row of the final board, and how many teams there are.

    Whether it may be seen is for the caller to know.
    """
    ranking = FinalRanking(round.board, my_team(round.board, user))
    found = ranking.row_of(team.pk)
    return (found.row if found else None), ranking.count("")


def moved(round: Round, user: Person, first: int) -> list[Moved]:
    """Return the first teams of both boards, in the order of the final one."""
    placed, mine = round.board.final_scores, my_team(round.board, user)
    fields = "position", "team__name", "released_place", "place", "team"
    now = placed.filter(position__lte=first).order_by("position").values_list(*fields)
    then = placed.filter(position__isnull=False, released_place__lte=first)
    before = then.order_by("released_place", "position").values_list(*fields)[:first]
    rows = sorted({*now, *before})
    return [Moved(name, was, is_, team == mine) for _, name, was, is_, team in rows]


def final_tests(round: Round) -> dict[str, Any] | None:
    """Return what the tests of all pairs of entries found, to be checked; None without tests."""
    found = FinalTests.objects.filter(board=round.board).values_list("document", flat=True)
    return found.first()


def whole_final_board(round: Round, user: Person) -> Iterator[FinalRow]:
    """Return every row, for the CSV: read from the database as they are asked for."""
    ranking = FinalRanking(round.board, my_team(round.board, user))
    for first in range(0, ranking.count(""), _CSV_ROWS):
        yield from ranking.rows("", first, _CSV_ROWS)


def final_entries(team: Team) -> dict[int, FinalEntry]:
    """Return the final scores of the team's own submissions, by their numbers.

    None before the reveal.
    """
    round = team.competition.current_round
    if round.revealed_at is None:
        return {}
    reads = _Reader(round.board)
    scores = round.board.final_scores.filter(submission__team=team).select_related("submission")
    return {score.submission.number: reads.entry(score) for score in scores}


def final_places(teams: Collection[int]) -> dict[int, list[FinalPlace]]:
    """Return the places of teams on the final boards that are revealed, by their keys."""
    placed = FinalScore.objects.filter(
        board__position=0, board__round__revealed_at__isnull=False, position__isnull=False
    )
    rows = list(
        placed.filter(team__in=teams)
        .select_related("board__round")
        .order_by("board__round__number")
    )
    boards = {row.board_id for row in rows}
    totals = _counts(placed.filter(board__in=boards).values_list("board").annotate(Count("pk")))
    shared = Q()
    for row in rows:
        shared |= Q(board=row.board_id, place=row.place)
    counts = placed.filter(shared) if rows else placed.none()
    ties = _counts(counts.values_list("board", "place").annotate(Count("pk")))
    found = dict[int, list[FinalPlace]]()
    for row in rows:
        assert row.place is not None  # noqa: S101  (what has a position has a place)
        place = FinalPlace(
            round=row.board.round.number,
            title=titled(row.board.round),
            rank=row.place,
            tied=ties[row.board_id, row.place] > 1,
            total=totals[row.board_id,],
        )
        found.setdefault(row.team_id, []).append(place)
    return found


def _counts(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """Return the last column of rows by the others."""
    return {tuple(key): count for *key, count in rows}


class _Reader:
    """Read final scores of one board; look up once what all share."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.reads = scale(board)
        placed = board.final_scores.filter(position__isnull=False)
        self.placed = placed.select_related("team", "submission")
        self.first = placed.filter(position=1).select_related("holdout").first()
        self.decimals = self.reads.decimals
        if self.first is not None:
            # Enough to tell a row's worth of loss apart; a finer difference means nothing.
            step = finest_step(self.reads.score, self.first.rows)
            self.decimals = max(0, math.ceil(-math.log10(step) - 1e-9))

    def entry(self, score: FinalScore) -> FinalEntry:
        value = self.reads.score(score.units / (score.rows * score.resolution))
        return FinalEntry(
            number=score.submission.number,
            is_chosen=score.chosen,
            loss=score.loss,
            value=value,
            score=f"{value:.{self.decimals}f}",
            sampling=self._sampling(score),
            interval=certificate_interval(self.reads, score),
        )

    def _sampling(self, score: FinalScore) -> Interval | None:
        if not metrics.get(self.board.metric).is_mean:
            return None
        loss = score.units / (score.rows * score.resolution)
        return self.reads.interval(*wilson_interval(loss, score.rows, 1 - SAMPLING_CONFIDENCE))


class FinalRanking(_Reader):
    """The final board's order, as it was stored when all scores were there; `my_team` is marked."""

    def __init__(self, board: Board, my_team: int | None = None) -> None:
        super().__init__(board)
        unranked = board.standings.filter(is_ranked=False)
        self.unranked = list(unranked.values_list("team", flat=True))
        self.last = self.placed.order_by("-position").first()
        self.shared = dict[int | None, int]()
        self.my_team = my_team

    def count(self, search: str) -> int:
        if search:
            return self._named(search).count()
        return self.last.position or 0 if self.last else 0

    @property
    def span(self) -> Span:
        """Return the first and the last score of the board."""
        ends = [self.reads.score(float(each.loss)) for each in (self.first, self.last) if each]
        return (ends[0], ends[1]) if ends else None

    def rows(self, search: str, first: int, count: int) -> list[FinalRow]:
        # The one before tells which baselines stand on an earlier page.
        start = max(0, first - 1)
        if search:
            part = self._named(search).order_by("position")[start : first + count]
        else:
            part = self.placed.filter(position__gt=start, position__lte=first + count)
            part = part.order_by("position")
        found = self._make(part)
        before, rows = found[: first - start], found[first - start :]
        for row in reversed(self._baselines(search)):
            above = sum(each.best.loss <= row.best.loss for each in rows)
            is_later = before and row.best.loss < before[-1].best.loss
            if not is_later and (above < len(rows) or first + count >= self.count(search)):
                rows.insert(above, row)
        return rows

    def mine(self) -> Mine[FinalRow] | None:
        return None if self.my_team is None else self.row_of(self.my_team)

    def row_of(self, team: int) -> Mine[FinalRow] | None:
        own = self.placed.filter(team=team).first()
        if own is None or own.position is None:
            return None
        row = self._make([own])[0]
        better = self.placed.filter(place__lt=own.place).order_by("-position").first()
        gap = abs(self.reads.score(float(better.loss)) - row.best.value) if better else None
        return Mine(own.position, row, "" if gap is None else f"{gap:.{self.decimals}f}")

    def _baselines(self, search: str) -> list[FinalRow]:
        """Return the rows of baselines, by the best of their entries, in order."""
        if not self.unranked:
            return []
        scores = self.board.final_scores.filter(team__in=self.unranked, position__isnull=True)
        named = scores.filter(team__name__icontains=search).order_by("submission")
        best = dict[int, FinalScore]()
        for score in sorted(named.select_related("team", "submission"), key=attrgetter("loss")):
            best.setdefault(score.team_id, score)
        return self._make(best.values())

    def facts(self) -> FinalFacts:
        board, first = self.board, self.first
        metric = metrics.get(board.metric)
        holdout = first.holdout if first else board.round.active_holdout
        final = first is not None and on_final_rows(first)
        count = 0 if holdout is None else holdout.final_rows if final else holdout.private_rows
        rows = first.rows if first else count
        tests = FinalTests.objects.filter(board=board).values_list("document__form", flat=True)
        tested = tests.first()
        contenders = self.placed.filter(best_place=1)
        names = contenders.order_by("position").values_list("team__name", flat=True)
        heads = count_heads(board.finalists, count, tested) if tested else board.finalists
        return FinalFacts(
            rows="final" if final else "private",
            count=count,
            effective=rows,
            finalists=board.finalists,
            teams=self.count(""),
            baselines=len(self._baselines("")),
            confidence=round(1 - beta(board), 9),
            width=(
                bonferroni_width(
                    final_design(first).bound_rows,
                    board.finalists,
                    interval_beta(board, final=True),
                )
                if first is not None and final and metric.is_mean
                else None
            ),
            reason="" if metric.is_mean else metric.guarantee,
            decimals=self.decimals,
            tests=tested or "",
            heads=heads if heads < board.finalists else None,
            could_be_first=contenders.count() if tested else None,
            contenders=tuple(names[:_NAMED]),
        )

    def _named(self, search: str) -> QuerySet[FinalScore]:
        return self.placed.filter(named(self.board, search))

    def _make(self, found: Iterable[FinalScore]) -> list[FinalRow]:
        """Make the rows of teams by their best entries, with the other ones."""
        placed = list(found)
        if not placed:
            return []
        places = self.placed.filter(place__in={score.place for score in placed}).order_by()
        self.shared = dict(places.values_list("place").annotate(teams=Count("pk")))
        entries = self.board.final_scores.filter(
            team__in=[score.team_id for score in placed], position__isnull=True
        ).exclude(pk__in=[score.pk for score in placed])
        others: dict[int, list[FinalScore]] = {}
        for score in entries.order_by("submission__number").select_related("submission"):
            others.setdefault(score.team_id, []).append(score)
        return [self._row(score, others.get(score.team_id, [])) for score in placed]

    def _row(self, score: FinalScore, others: list[FinalScore]) -> FinalRow:
        loss, place, before = score.released_loss, score.place, score.released_place
        return FinalRow(
            rank=place,
            tied=self.shared.get(place, 0) > 1,
            best_place=score.best_place,
            worst_place=score.worst_place,
            team_id=score.team_id,
            uid=score.team.uid,
            team=score.team.name,
            is_baseline=score.team.is_baseline,
            is_verified=score.team.is_verified,
            best=self.entry(score),
            others=tuple(self.entry(each) for each in sorted(others, key=attrgetter("loss"))),
            released_rank=before,
            released_score=None if loss is None else self.reads.text(loss),
            move=None if before is None or place is None else before - place,
            mine=score.team_id == self.my_team,
        )
