"""All reads for the pages and the API: frozen rows, made of public facts and releases only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, BinaryIO

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone
from knox.models import AuthToken

from leaderboard.access import membership_of, visible_competitions
from leaderboard.files import open_stored
from leaderboard.models import (
    COUNTED,
    Competition,
    CompetitionFile,
    FileRole,
    Holdout,
    HoldoutState,
    Kind,
    Phase,
    Release,
    Standing,
    Status,
    Submission,
    Team,
    User,
)
from leaderboard.pipeline.release import ledger_document
from scoring import mechanisms, metrics
from scoring.errors import ParameterError, SolutionError
from scoring.guarantees.intervals import wilson_interval
from scoring.predictions import Preview, Schema, preview

Person = User | AnonymousUser
PAGE_ROWS = 50
SAMPLING_CONFIDENCE = 0.95
PREVIEW_BYTES = 256 * 1024
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class CompetitionCard:
    """A competition in the list."""

    slug: str
    title: str
    tagline: str
    phase: Phase
    opens_at: datetime
    closes_at: datetime
    metric: str
    mechanism: str
    teams: int
    submissions: int
    joined: bool


@dataclass(frozen=True)
class CompetitionHead:
    """What stands above all pages of a competition. Empty titles: not chosen yet."""

    phase: Phase
    metric: str
    mechanism: str
    teams: int


@dataclass(frozen=True)
class Scale:
    """How a grid level of the loss reads as a score: values, digits, which way is better."""

    metric: str
    metric_title: str
    maximize: bool
    steps: int
    decimals: int
    worst: float
    best: float
    parameters: Any

    def score(self, loss: float) -> float:
        """The score that people read for a loss in [0, 1]."""
        value = metrics.get(self.metric).score(min(1.0, max(0.0, loss)), self.parameters)
        return float(value)

    def text(self, loss: float) -> str:
        """The score with the digits that mean something."""
        return f"{self.score(loss):.{self.decimals}f}"

    @property
    def step_text(self) -> str:
        """The size of a grid step, as a score."""
        return f"{abs(self.score(0.0) - self.score(1.0 / self.steps)):.{self.decimals}f}"


@dataclass(frozen=True)
class Interval:
    """An interval of scores, low to high as numbers."""

    low: float
    high: float


@dataclass(frozen=True)
class Released:
    """What was released about one submission, ready to be said in words."""

    kind: Kind
    number: int
    score: str | None
    value: float | None
    reference: str | None
    sampling: Interval | None
    certificate: Interval | None
    certificate_width: float | None
    step: str
    share_left: int | None
    asked: int
    repeat: bool
    created_at: datetime


@dataclass(frozen=True)
class BoardRow:
    """A team on the board. `value` and the intervals are scores; None: nothing released yet."""

    rank: int
    team_id: int
    team: str
    is_baseline: bool
    is_verified: bool
    score: str | None
    value: float | None
    sampling: Interval | None
    certificate: Interval | None
    certificate_width: float | None
    entries: int
    improved_at: datetime | None
    last_kind: Kind
    last_at: datetime
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


@dataclass(frozen=True)
class Quota:
    """What a team may still upload. `total_left` is None where there is no limit in all."""

    daily_limit: int
    daily_left: int
    renews_at: datetime
    total_limit: int | None
    total_left: int | None

    @property
    def left(self) -> int:
        return self.daily_left if self.total_left is None else min(self.daily_left, self.total_left)


@dataclass(frozen=True)
class SubmissionRow:
    """A submission as its team sees it. `problems` are those of a rejected file."""

    number: int
    user: str
    file_name: str
    size: int
    sha256: str
    message: str
    status: Status
    problems: tuple[dict[str, Any], ...]
    problem_count: int
    created_at: datetime
    read_at: datetime | None
    finished_at: datetime | None
    released: Released | None

    @property
    def is_final(self) -> bool:
        return self.finished_at is not None


@dataclass(frozen=True)
class TeamRow:
    """A team as everyone sees it."""

    name: str
    members: int
    is_baseline: bool
    is_verified: bool
    created_at: datetime


@dataclass(frozen=True)
class Member:
    """A person of a team."""

    username: str
    is_captain: bool
    accepted_at: datetime


@dataclass(frozen=True)
class ApiToken:
    """A valid token, known by its first characters."""

    key: str
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True)
class InvitationLink:
    """A link that lets others join a team."""

    token: str
    expires_at: datetime


@dataclass(frozen=True)
class MechanismFacts:
    """What may be known of the mechanism of a board: name, sentence, parameters, rows, budget."""

    name: str
    title: str
    description: str
    parameters: tuple[tuple[str, str, str], ...]
    private_rows: int
    public_rows: int
    asked: int
    answered: int
    budget_left: int | None


@dataclass(frozen=True)
class LedgerPage:
    """A page of the public ledger, newest first."""

    entries: tuple[dict[str, Any], ...]
    page: int
    pages: int
    total: int
    head_hash: str
    solution_commitment: str
    secret_commitment: str


# --- Competitions ---------------------------------------------------------------------------------


def competition_cards(user: Person) -> tuple[CompetitionCard, ...]:
    """The competitions that exist for this person: open ones first, by closing time."""
    now = timezone.now()
    rows = list(visible_competitions(user))
    teams = dict(
        Team.objects.filter(competition__in=rows)
        .values_list("competition")
        .annotate(count=Count("pk"))
        .order_by()
    )
    entries = dict(
        Standing.objects.filter(competition__in=rows)
        .values_list("competition")
        .annotate(count=Sum("entries"))
        .order_by()
    )
    joined = set[int]()
    if isinstance(user, User):
        joined = set(user.memberships.values_list("competition_id", flat=True))
    cards = [
        CompetitionCard(
            slug=row.slug,
            title=row.title,
            tagline=row.tagline,
            phase=row.phase(now),
            opens_at=row.opens_at,
            closes_at=row.closes_at,
            metric=_metric_title(row),
            mechanism=_mechanism_title(row),
            teams=teams.get(row.pk, 0),
            submissions=entries.get(row.pk, 0),
            joined=row.pk in joined,
        )
        for row in rows
    ]
    order = [Phase.OPEN, Phase.UPCOMING, Phase.DRAFT, Phase.CLOSED]
    return tuple(sorted(cards, key=lambda card: (order.index(card.phase), card.closes_at)))


def competition_head(competition: Competition) -> CompetitionHead:
    """Phase, metric, mechanism and size of a competition."""
    return CompetitionHead(
        phase=competition.phase(timezone.now()),
        metric=_metric_title(competition),
        mechanism=_mechanism_title(competition),
        teams=competition.teams.count(),
    )


def public_files(competition: Competition) -> QuerySet[CompetitionFile]:
    """The files of the data page."""
    return competition.files.order_by("name")


def expected_file(competition: Competition, rows: int = 5) -> Preview | None:
    """Header and first rows of the sample submission; None without one that fits the schema."""
    sample = competition.files.filter(role=FileRole.SAMPLE).first()
    if sample is None:
        return None
    try:
        with open_stored(sample.file.name) as file:
            return preview(_beginning(file), Schema.from_json(competition.schema), rows)
    except (ParameterError, SolutionError):
        return None


def _beginning(file: BinaryIO) -> bytes:
    """Whole lines from the start of a text, so that a long file is not read for a few rows."""
    head = file.read(PREVIEW_BYTES)
    end = head.rfind(b"\n") + 1
    if len(head) < PREVIEW_BYTES or not end or head.startswith(GZIP_MAGIC):
        return head + file.read()
    return head[:end]


def mechanism_facts(competition: Competition) -> MechanismFacts | None:
    """What the pages say about the mechanism; None for a draft that is not set up."""
    holdout = holdout_in_force(competition)
    if holdout is None or competition.mechanism not in mechanisms.MECHANISMS:
        return None
    mechanism = mechanisms.get(competition.mechanism)
    state = HoldoutState.objects.filter(holdout=holdout).first()
    raw = competition.mechanism_parameters
    return MechanismFacts(
        name=mechanism.name,
        title=mechanism.title,
        description=mechanism.description,
        parameters=tuple(
            (each.title, str(raw.get(each.name, each.default)), each.help)
            for each in mechanism.parameters
        ),
        private_rows=holdout.private_rows,
        public_rows=holdout.public_rows,
        asked=state.asked if state else 0,
        answered=state.answered if state else 0,
        budget_left=state.budget_left if state else None,
    )


def holdout_in_force(competition: Competition) -> Holdout | None:
    """The holdout that answers now."""
    return competition.holdouts.filter(retired_at__isnull=True).first()


def scale(competition: Competition) -> Scale:
    """How released levels read as scores."""
    metric = metrics.get(competition.metric)
    parameters = metric.parse(competition.metric_parameters)
    mechanism = mechanisms.get(competition.mechanism)
    steps = mechanism.parse(competition.mechanism_parameters).steps
    worst, best = metric.score_range(parameters)
    step = abs(best - worst) / steps
    return Scale(
        metric=metric.name,
        metric_title=metric.title,
        maximize=metric.direction == "maximize",
        steps=steps,
        decimals=max(0, math.ceil(-math.log10(step) - 1e-9)),
        worst=worst,
        best=best,
        parameters=parameters,
    )


# --- The board ------------------------------------------------------------------------------------


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
                    entry.created_at,
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
        self.holdout = holdout_in_force(competition)

    def __call__(self, rank: int, standing: Standing) -> BoardRow:
        best, loss = standing.best, standing.loss
        return BoardRow(
            rank=rank,
            team_id=standing.team_id,
            team=standing.team.name,
            is_baseline=standing.team.is_baseline,
            is_verified=standing.team.is_verified,
            score=None if loss is None else self.reads.text(loss),
            value=None if loss is None else self.reads.score(loss),
            sampling=None if loss is None else sampling_interval(self.reads, self.holdout, loss),
            certificate=None
            if best is None or loss is None
            else certificate_interval(self.reads, loss, best.certificate),
            certificate_width=best.certificate if best else None,
            entries=standing.entries,
            improved_at=standing.reached_at if loss is not None else None,
            last_kind=Kind(standing.last.kind),
            last_at=standing.last.created_at,
            mine=standing.team_id == self.my_team,
        )


def sampling_interval(reads: Scale, holdout: Holdout | None, loss: float) -> Interval | None:
    """The plain sampling error of a mean over the private rows (Wilson), where it applies."""
    if holdout is None or metrics.get(reads.metric).kind == "set_function":
        return None
    low, high = wilson_interval(loss, holdout.private_rows, 1 - SAMPLING_CONFIDENCE)
    return _interval(reads, low, high)


def certificate_interval(reads: Scale, loss: float, width: float | None) -> Interval | None:
    """The certified interval; None where there is no certificate."""
    return None if width is None else _interval(reads, loss - width, loss + width)


def _interval(reads: Scale, low_loss: float, high_loss: float) -> Interval:
    ends = sorted((reads.score(low_loss), reads.score(high_loss)))
    return Interval(ends[0], ends[1])


# --- A team's own ---------------------------------------------------------------------------------


def quota(team: Team) -> Quota:
    """What the team may still upload today and in all."""
    competition = team.competition
    now = timezone.now()
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    counts = team.submissions.filter(status__in=COUNTED).aggregate(
        today=Count("pk", filter=Q(created_at__gte=day)), all=Count("pk")
    )
    total = competition.total_limit
    return Quota(
        daily_limit=competition.daily_limit,
        daily_left=max(0, competition.daily_limit - counts["today"]),
        renews_at=day + timedelta(days=1),
        total_limit=total,
        total_left=None if total is None else max(0, total - counts["all"]),
    )


def submission_rows(team: Team, part: slice = slice(None)) -> list[SubmissionRow]:
    """The team's submissions, newest first, or a part of them."""
    rows = team.submissions.select_related("user", "release").order_by("-number")[part]
    reads, holdout = scale(team.competition), holdout_in_force(team.competition)
    return [_submission_row(row, reads, holdout) for row in rows]


def submission_row(submission: Submission) -> SubmissionRow:
    """One submission."""
    competition = submission.team.competition
    return _submission_row(submission, scale(competition), holdout_in_force(competition))


def members(team: Team) -> list[Member]:
    """The people of a team."""
    return [
        Member(each.user.username, each.user_id == team.captain_id, each.accepted_at)
        for each in team.memberships.select_related("user")
    ]


def invitation_links(team: Team) -> list[InvitationLink]:
    """The links that still let somebody join, newest first."""
    valid = team.invitations.filter(expires_at__gt=timezone.now()).order_by("-created_at")
    return [InvitationLink(each.token, each.expires_at) for each in valid]


def api_tokens(user: User) -> list[ApiToken]:
    """The person's valid API tokens, newest first."""
    valid = AuthToken.objects.filter(user=user).exclude(expiry__lte=timezone.now())
    return [
        ApiToken(each.token_key, each.created, each.expiry) for each in valid.order_by("-created")
    ]


def team_rows(
    competition: Competition, *, search: str = "", part: slice = slice(None)
) -> tuple[list[TeamRow], int]:
    """Teams by name, or a part of them, and how many there are."""
    teams = competition.teams.filter(name__icontains=search)
    shown = teams.annotate(people=Count("memberships")).order_by("name", "pk")[part]
    rows = [
        TeamRow(each.name, each.people, each.is_baseline, each.is_verified, each.created_at)
        for each in shown
    ]
    return rows, teams.count()


def my_teams(user: User) -> list[Team]:
    """The teams of a person, with their competitions."""
    teams = Team.objects.filter(memberships__user=user).select_related("competition")
    return list(teams.order_by("competition__slug"))


def my_team(user: Person, competition: Competition) -> Team | None:
    """The person's team."""
    membership = membership_of(user, competition)
    return membership.team if membership else None


def _submission_row(submission: Submission, reads: Scale, holdout: Holdout | None) -> SubmissionRow:
    entry = getattr(submission, "release", None)
    return SubmissionRow(
        number=submission.number,
        user=submission.user.username,
        file_name=submission.file_name,
        size=submission.size,
        sha256=submission.sha256,
        message=submission.message,
        status=Status(submission.status),
        problems=tuple(submission.problems),
        problem_count=submission.problem_count,
        created_at=submission.created_at,
        read_at=submission.read_at,
        finished_at=submission.finished_at,
        released=_released(entry, reads, holdout) if entry else None,
    )


def _released(entry: Release, reads: Scale, holdout: Holdout | None) -> Released:
    loss = None if entry.level is None else entry.level / entry.steps
    reference = entry.reference_level
    return Released(
        kind=Kind(entry.kind),
        number=entry.number,
        score=None if loss is None else reads.text(loss),
        value=None if loss is None else reads.score(loss),
        reference=None if reference is None else reads.text(reference / entry.steps),
        sampling=None if loss is None else sampling_interval(reads, holdout, loss),
        certificate=None if loss is None else certificate_interval(reads, loss, entry.certificate),
        certificate_width=entry.certificate,
        step=reads.step_text,
        share_left=entry.share_left,
        asked=entry.asked,
        repeat=entry.repeat_of_id is not None,
        created_at=entry.created_at,
    )


# --- The ledger -----------------------------------------------------------------------------------


def ledger(competition: Competition, *, page: int = 1, page_rows: int = PAGE_ROWS) -> LedgerPage:
    """A page of the public ledger of the holdout in force."""
    holdout = holdout_in_force(competition)
    rows = Release.objects.filter(holdout=holdout).select_related("submission")
    total = rows.count()
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    chosen = rows.order_by("-number")[(page - 1) * page_rows : page * page_rows]
    state = HoldoutState.objects.filter(holdout=holdout).first()
    return LedgerPage(
        entries=tuple(_ledger_entry(entry) for entry in chosen),
        page=page,
        pages=pages,
        total=total,
        head_hash=state.head_hash if state else "",
        solution_commitment=holdout.solution_commitment if holdout else "",
        secret_commitment=holdout.secret_commitment if holdout else "",
    )


def _ledger_entry(entry: Release) -> dict[str, Any]:
    return ledger_document(entry) | {"hash": entry.hash}


def _metric_title(competition: Competition) -> str:
    metric = metrics.METRICS.get(competition.metric)
    return metric.title if metric else competition.metric


def _mechanism_title(competition: Competition) -> str:
    mechanism = mechanisms.MECHANISMS.get(competition.mechanism)
    return mechanism.title if mechanism else competition.mechanism
