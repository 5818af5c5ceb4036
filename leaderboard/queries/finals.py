"""The end: what teams enter, how far the final scoring has come, and the final board."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from django.db.models import F, QuerySet
from django.utils import timezone

from leaderboard.access import Person
from leaderboard.models import (
    Competition,
    FinalScore,
    HoldoutState,
    Phase,
    Release,
    Standing,
    Submission,
    Team,
    User,
)
from leaderboard.participate.selection import entered
from leaderboard.pipeline.finalize import FAILURE, Unfinished, unfinished
from leaderboard.queries.boards import PAGE_ROWS
from leaderboard.queries.competitions import holdout_in_force
from leaderboard.queries.scales import Interval, Scale, finest_step, scale
from scoring import mechanisms, metrics
from scoring.guarantees.finals import counted_interval, untouched_interval
from scoring.guarantees.intervals import bonferroni_width
from scoring.guarantees.ledger import ledger_width


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
        """What the final scoring counts."""
        return self.numbers or (() if self.stand_in is None else (self.stand_in,))


@dataclass(frozen=True)
class Progress:
    """How far the end has come, for organizers. Of `teams` that have an answer `chose` chose what
    they enter. `failures` can't be measured, and say why; `worst` got the worst score, because an
    operator's own metric gave none."""

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
    """An entered submission with its exact score: `loss` as a fraction of all there is to lose."""

    number: int
    is_chosen: bool
    loss: Fraction
    value: float
    score: str
    interval: Interval | None


@dataclass(frozen=True)
class FinalRow:
    """A team on the final board, by the best of its entries; equal scores share a rank.

    `move` is how many places it went up from the released board, negative for down. `with_winner`
    says that its interval overlaps the winner's: the intervals don't tell the two apart.
    """

    rank: int
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    best: FinalEntry
    others: tuple[FinalEntry, ...]
    released_rank: int
    released_score: str | None
    move: int
    with_winner: bool | None
    mine: bool


@dataclass(frozen=True)
class FinalFacts:
    """What the final scores were measured on, and what the intervals cover.

    `rows` are "final" or "private" ones; `effective` what they count as where they have weights.
    `width` is how far an interval reaches at most, as a loss, where all are alike. `reason` says
    why there is no interval; empty where there are.
    """

    rows: str
    count: int
    effective: int
    finalists: int
    teams: int
    confidence: float
    width: float | None
    reason: str
    decimals: int

    @property
    def percent(self) -> str:
        """The confidence as people say it."""
        return f"{100 * self.confidence:.4g} %"


@dataclass(frozen=True)
class FinalBoard:
    """A page of the final board. `winners` are those on the first rank."""

    facts: FinalFacts
    rows: tuple[FinalRow, ...]
    winners: tuple[str, ...]
    winners_interval: Interval | None
    page: int
    pages: int
    total: int
    search: str
    my_row: FinalRow | None
    my_page: int | None

    @property
    def together(self) -> bool:
        """Whether an interval on this page, not the winner's own, overlaps the winner's."""
        return any(row.with_winner and row.rank > 1 for row in self.rows)


def stage(competition: Competition) -> Stage:
    """Where the end stands, from what the organizer did and the clock, nothing else."""
    if competition.revealed_at is not None:
        return Stage.REVEALED
    if competition.finals_started_at is not None:
        return Stage.SCORING
    closed = competition.phase(timezone.now()) is Phase.CLOSED
    return Stage.CHOOSING if closed else Stage.RUNNING


def choice(team: Team) -> Choice:
    """What the team enters."""
    competition = team.competition
    numbers = team.selections.order_by("submission__number")
    standing = Standing.objects.filter(team=team).select_related("best", "last").first()
    stand_in = None
    if standing is not None:
        entry = standing.best or standing.last
        stand_in = Submission.objects.get(pk=entry.submission_id)
    lost = stand_in is not None and not stand_in.file
    return Choice(
        limit=competition.finals_limit,
        numbers=tuple(numbers.values_list("submission__number", flat=True)),
        stand_in=None if stand_in is None or lost else stand_in.number,
        may_change=competition.finals_started_at is None,
        lost=lost,
    )


def progress(competition: Competition) -> Progress:
    """What an organizer sees of the end before the reveal."""
    known = entered(competition)
    missing = known.filter(final_score__isnull=True)
    noted = known.filter(failure__startswith=FAILURE).select_related("team")
    noted = noted.order_by("team__name", "number")
    return Progress(
        stage=stage(competition),
        before=unfinished(competition),
        teams=Standing.objects.filter(competition=competition).count(),
        chose=competition.teams.filter(selections__isnull=False).distinct().count(),
        entered=known.count(),
        scored=known.count() - missing.count(),
        failures=tuple(noted.filter(final_score__isnull=True)),
        worst=tuple(noted.filter(final_score__isnull=False)),
    )


def final_board(
    competition: Competition,
    user: Person,
    *,
    page: int = 1,
    search: str = "",
    page_rows: int = PAGE_ROWS,
) -> FinalBoard:
    """A page of the final board. Whether it may be seen is for the caller to know."""
    maker = _Maker(competition, user)
    shown = [place for place in maker.places if search.casefold() in place.team.casefold()]
    pages = max(1, math.ceil(len(shown) / page_rows))
    page = min(max(1, page), pages)
    part = shown[(page - 1) * page_rows : page * page_rows]
    mine = next((place for place in maker.places if place.team_id == maker.my_team), None)
    return FinalBoard(
        facts=maker.facts,
        rows=tuple(maker.row(place) for place in part),
        winners=tuple(place.team for place in maker.places if place.rank == 1),
        winners_interval=maker.winners_interval,
        page=page,
        pages=pages,
        total=len(shown),
        search=search,
        my_row=maker.row(mine) if mine else None,
        my_page=maker.places.index(mine) // page_rows + 1 if mine else None,
    )


def whole_final_board(competition: Competition, user: Person) -> list[FinalRow]:
    """Every row, for the CSV."""
    maker = _Maker(competition, user)
    return [maker.row(place) for place in maker.places]


def final_entries(team: Team) -> dict[int, FinalEntry]:
    """The team's final scores by the submission's number; none before the reveal."""
    if team.competition.revealed_at is None:
        return {}
    reads = _Reader(team.competition)
    scores = _scores(FinalScore.objects.filter(team=team))
    return {score.number: reads.entry(score) for score in scores}


class _Score(NamedTuple):
    """An exact score, sorted by its loss."""

    loss: Fraction
    number: int
    submission_id: int
    team_id: int
    is_chosen: bool
    rows: int


class _Place(NamedTuple):
    """A team, its rank and its final scores, the best first."""

    rank: int
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    released_rank: int
    released_loss: float | None
    scores: list[_Score]


class _Reader:
    """Reads final scores of one competition; looks up once what all share."""

    def __init__(self, competition: Competition) -> None:
        self.reads: Scale = scale(competition)
        self.metric = metrics.get(competition.metric)
        mechanism = mechanisms.get(competition.mechanism)
        parameters = mechanism.parse(competition.mechanism_parameters)
        self.beta = float(1 - parameters.confidence)
        scores = FinalScore.objects.filter(team__competition=competition)
        self.finalists = scores.count()
        self.any = scores.select_related("holdout").first()
        self.decimals = self._decimals()
        self.widths = self._widths(scores)

    @property
    def on_final_rows(self) -> bool:
        return self.any is not None and self.any.holdout.final_rows > 0

    def entry(self, score: _Score) -> FinalEntry:
        value = self.reads.score(float(score.loss))
        return FinalEntry(
            number=score.number,
            is_chosen=score.is_chosen,
            loss=score.loss,
            value=value,
            score=f"{value:.{self.decimals}f}",
            interval=self._interval(score),
        )

    def _interval(self, score: _Score) -> Interval | None:
        if not self.metric.is_mean:
            return None
        loss = float(score.loss)
        if self.on_final_rows:
            ends = untouched_interval(loss, score.rows, self.finalists, self.beta)
        else:
            ends = counted_interval(loss, score.rows, self.widths[score.submission_id])
        return self.reads.interval(*ends)

    def _widths(self, scores: QuerySet[FinalScore]) -> dict[int, float]:
        """What the ledger sets aside for each entered submission: as it was published with the
        answer, or, for one that was not asked since a correction, as one more question now."""
        if self.any is None or self.on_final_rows or not self.metric.is_mean:
            return {}
        asked = Release.objects.filter(
            holdout=self.any.holdout, submission__in=scores.values("submission")
        )
        widths = dict(asked.values_list("submission", "width"))
        head = HoldoutState.objects.get(holdout=self.any.holdout)
        others = scores.exclude(submission__in=asked.values("submission")).order_by("submission")
        keys = others.values_list("submission", flat=True)
        for question, key in enumerate(keys, start=head.asked + 1):
            # Half of beta is the ledger's with every mechanism; some keep the rest for their noise.
            widths[key] = ledger_width(
                self.any.rows, question, head.answered, head.log_alphabets, math.log(self.beta / 2)
            )
        return widths

    def _decimals(self) -> int:
        """Enough to tell a row's worth of loss apart; a finer difference means nothing."""
        if self.any is None:
            return self.reads.decimals
        step = finest_step(self.reads.score, self.any.rows)
        return max(0, math.ceil(-math.log10(step) - 1e-9))


class _Maker(_Reader):
    """Makes rows of the final board."""

    def __init__(self, competition: Competition, user: Person) -> None:
        super().__init__(competition)
        self.my_team = _team_of(user, competition)
        self.places = _places(competition)
        self.facts = self._facts(competition)
        self.winners_interval = self._winners_interval()

    def row(self, place: _Place) -> FinalRow:
        best, *others = (self.entry(score) for score in place.scores)
        loss = place.released_loss
        return FinalRow(
            rank=place.rank,
            team_id=place.team_id,
            team=place.team,
            is_baseline=place.is_baseline,
            is_verified=place.is_verified,
            best=best,
            others=tuple(others),
            released_rank=place.released_rank,
            released_score=None if loss is None else self.reads.text(loss),
            move=place.released_rank - place.rank,
            with_winner=self._overlaps(best.interval),
            mine=place.team_id == self.my_team,
        )

    def _winners_interval(self) -> Interval | None:
        """That of the first place; the widest where several share it, around the same score."""
        winners = [place.scores[0] for place in self.places if place.rank == 1]
        if not winners:
            return None
        return self._interval(max(winners, key=lambda s: self.widths.get(s.submission_id, 0.0)))

    def _overlaps(self, interval: Interval | None) -> bool | None:
        winners = self.winners_interval
        if interval is None or winners is None:
            return None
        return interval.low <= winners.high and winners.low <= interval.high

    def _facts(self, competition: Competition) -> FinalFacts:
        holdout = self.any.holdout if self.any else holdout_in_force(competition)
        final = self.on_final_rows
        count = 0 if holdout is None else holdout.final_rows if final else holdout.private_rows
        rows = self.any.rows if self.any else count
        return FinalFacts(
            rows="final" if final else "private",
            count=count,
            effective=rows,
            finalists=self.finalists,
            teams=len(self.places),
            confidence=round(1 - self.beta, 9),
            width=(
                bonferroni_width(rows, self.finalists, self.beta)
                if final and self.metric.is_mean
                else None
            ),
            reason="" if self.metric.is_mean else self.metric.guarantee,
            decimals=self.decimals,
        )


def _places(competition: Competition) -> list[_Place]:
    """The teams by the best of their exact scores; those of one rank as the released board had
    them."""
    scores: dict[int, list[_Score]] = {}
    for score in sorted(_scores(FinalScore.objects.filter(team__competition=competition))):
        scores.setdefault(score.team_id, []).append(score)
    standings = Standing.objects.filter(competition=competition).order_by(
        F("loss").asc(nulls_last=True), "reached_at", "pk"
    )
    names = ("team", "team__name", "team__is_baseline", "team__is_verified", "loss")
    teams = [
        (row, released_rank)
        for released_rank, row in enumerate(standings.values_list(*names), start=1)
        if row[0] in scores
    ]
    teams.sort(key=lambda team: scores[team[0][0]][0].loss)
    places: list[_Place] = []
    for number, ((key, name, is_baseline, is_verified, loss), released_rank) in enumerate(teams, 1):
        own = scores[key]
        tied = places and places[-1].scores[0].loss == own[0].loss
        rank = places[-1].rank if tied else number
        places.append(_Place(rank, key, name, is_baseline, is_verified, released_rank, loss, own))
    return places


def _scores(scores: QuerySet[FinalScore]) -> list[_Score]:
    names = ("submission__number", "submission", "team", "chosen", "rows", "units", "resolution")
    return [
        _Score(Fraction(units, rows * resolution), number, key, team, chosen, rows)
        for number, key, team, chosen, rows, units, resolution in scores.values_list(*names)
    ]


def _team_of(user: Person, competition: Competition) -> int | None:
    if not isinstance(user, User):
        return None
    return competition.memberships.filter(user=user).values_list("team", flat=True).first()
