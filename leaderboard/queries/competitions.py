"""Competitions, their files and what may be known of their mechanism."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import BinaryIO

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from leaderboard.access import Person, may_see_others, unseen, visible_competitions
from leaderboard.ledger.accounts import count_questions
from leaderboard.models import (
    Board,
    BoardState,
    Competition,
    CompetitionFile,
    FileRole,
    Phase,
    Round,
    Sanction,
    Standing,
    Team,
    User,
)
from leaderboard.platform.files import open_stored
from leaderboard.platform.lately import lately
from leaderboard.queries.scales import scale
from scoring import mechanisms, metrics
from scoring.errors import ParameterError, SolutionError
from scoring.parameters import Value, show
from scoring.predictions import Preview, Schema, preview

PREVIEW_BYTES = 256 * 1024
_MANY_TEAMS = 1000
# gzip, zstd, zip, Parquet: only the whole of them can be read.
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1")


@dataclass(frozen=True)
class CompetitionCard:
    """A competition in the list. `closes_at` is None where it has no end.

    `teams` and `submissions` are None for those who may not know of other teams.
    """

    slug: str
    title: str
    tagline: str
    phase: Phase
    opens_at: datetime
    closes_at: datetime | None
    metric: str
    mechanism: str
    teams: int | None
    submissions: int | None
    joined: bool
    revealed_at: datetime | None


@dataclass(frozen=True)
class CompetitionHead:
    """What stands above all pages of a competition. Empty texts: not chosen yet.

    `scores` are the range and step of released scores, and which way is better. `teams` is None for
    those who may not know of others. `paused` is why nothing is taken or answered, a `Pause`; empty
    where it runs.
    """

    phase: Phase
    metric: str
    scores: str
    mechanism: str
    teams: int | None
    paused: str


@dataclass(frozen=True)
class MechanismFacts:
    """What may be known of the mechanism of a board: name, sentence, parameters, rows, budget.

    questions: as the board counts them; `asked` are those about files, of which `answered` got
    an answer that said more than "no". These and `budget_left` are None for those who may not know
    of other teams.
    """

    name: str
    title: str
    description: str
    parameters: tuple[tuple[str, str, str], ...]
    private_rows: int
    effective_rows: int
    public_rows: int
    final_rows: int
    questions: int | None
    asked: int | None
    answered: int | None
    budget_left: int | None


def competition_cards(user: Person) -> tuple[CompetitionCard, ...]:
    """Return the competitions that exist for this person: open ones first, by closing time."""
    now = timezone.now()
    rows = list(visible_competitions(user).prefetch_related("rounds__ledger", "rounds__boards"))
    rounds = [row.current_round for row in rows]
    teams = dict(
        Team.objects.filter(competition__in=rows, merged_into=None, is_baseline=False)
        .exclude(pk__in=Sanction.objects.hidden_teams())
        .values_list("competition")
        .annotate(count=Count("pk"))
        .order_by()
    )
    entries = dict(
        Standing.objects.filter(board__in=[round.board for round in rounds])
        .values_list("board__round__competition")
        .annotate(count=Sum("entries"))
        .order_by()
    )
    blind, joined = unseen(user, rows), set[int]()
    if isinstance(user, User):
        joined = set(user.memberships.active().values_list("competition_id", flat=True))
    cards = [
        CompetitionCard(
            slug=row.slug,
            title=row.title,
            tagline=row.tagline,
            phase=round.phase(now),
            opens_at=round.opens_at,
            closes_at=round.closes_at,
            metric=metric_title(round.board),
            mechanism=_mechanism_title(round.board),
            teams=None if row.pk in blind else teams.get(row.pk, 0),
            submissions=None if row.pk in blind else entries.get(row.pk, 0),
            joined=row.pk in joined,
            revealed_at=round.revealed_at,
        )
        for row, round in zip(rows, rounds, strict=True)
    ]
    order = [Phase.OPEN, Phase.UPCOMING, Phase.DRAFT, Phase.CLOSED]
    no_end = datetime.max.replace(tzinfo=UTC)
    return tuple(
        sorted(cards, key=lambda card: (order.index(card.phase), card.closes_at or no_end))
    )


def competition_head(competition: Competition, user: Person) -> CompetitionHead:
    """Return phase, metric, mechanism and size of a competition."""
    round, seen = competition.current_round, may_see_others(user, competition)
    return CompetitionHead(
        phase=round.phase(timezone.now()),
        metric=metric_title(round.board),
        scores=_scores(round.board),
        mechanism=_mechanism_title(round.board),
        teams=lately(("teams", competition.pk), lambda: _teams(competition)) if seen else None,
        paused=round.paused_for,
    )


def _scores(board: Board) -> str:
    try:
        reads = scale(board)
    except ParameterError:
        return ""
    low, high = sorted((reads.worst, reads.best))
    step = f" in steps of {reads.step_text(1)}" if reads.is_even else ""
    better = "higher" if reads.maximize else "lower"
    return f"{low:,.{reads.decimals}f} to {high:,.{reads.decimals}f}{step}, {better} is better"


def _teams(competition: Competition) -> int:
    """Return how many teams there are; of very many, as it was within the last minute."""
    shown = competition.teams.exclude(pk__in=Sanction.objects.hidden_teams())
    teams = shown.filter(merged_into=None, is_baseline=False).order_by()
    count = teams[:_MANY_TEAMS].count()
    if count < _MANY_TEAMS:
        return count
    return lately(("many teams", competition.pk), teams.count, 60)


def public_files(round: Round) -> QuerySet[CompetitionFile]:
    """Return the files of the data page."""
    return round.origin.files.order_by("name")


def expected_file(round: Round, rows: int = 5) -> Preview | None:
    """Return header and first rows of the sample; None without one that fits the schema."""
    sample = round.origin.files.filter(role=FileRole.SAMPLE).first()
    if sample is None or not round.schema:
        return None
    schema = json.dumps(round.schema, sort_keys=True)
    return _first_rows(str(sample.file.name), sample.sha256, schema, rows)


@lru_cache(maxsize=128)
def _first_rows(name: str, sha256: str, schema: str, rows: int) -> Preview | None:
    """Keep them for each content and schema: an archive is expanded whole for its first rows."""
    try:
        with open_stored(name) as file:
            return preview(_beginning(file), Schema.from_json(json.loads(schema)), rows)
    except (ParameterError, SolutionError):
        return None


def mechanism_facts(board: Board, user: Person) -> MechanismFacts | None:
    """Return what the pages say about the mechanism; None for a draft that is not set up."""
    holdout = board.round.active_holdout
    if holdout is None or board.mechanism not in mechanisms.MECHANISMS:
        return None
    mechanism = mechanisms.get(board.mechanism)
    state = BoardState.objects.filter(board=board).select_related("ledger").first()
    if not may_see_others(user, board.round.competition):
        questions = asked = answered = budget_left = None
    elif state is None:
        questions, asked, answered, budget_left = 0, 0, 0, None
    else:
        questions = count_questions(state.ledger)
        asked, answered = state.ledger.asked, state.ledger.answered
        budget_left = state.budget_left
    raw = board.mechanism_parameters
    return MechanismFacts(
        name=mechanism.name,
        title=mechanism.title,
        description=mechanism.description,
        parameters=tuple(
            (each.title, str(raw.get(each.name, each.default)), each.help)
            for each in mechanism.parameters
        ),
        private_rows=holdout.private_rows,
        effective_rows=holdout.effective_private_rows,
        public_rows=holdout.public_rows,
        final_rows=holdout.final_rows,
        questions=questions,
        asked=asked,
        answered=answered,
        budget_left=budget_left,
    )


def metric_facts(board: Board) -> tuple[str, ...]:
    """Return sentences on what the metric measures, its range, what is cut and how rows count.

    None for a draft.
    """
    try:
        metric = metrics.get(board.metric)
        parameters = metric.parse(board.metric_parameters)
    except ParameterError:
        return ()
    unsaid = (each for each in metric.parameters if f"{{{each.name}}}" not in metric.clipping)
    texts = ((each.title, _written(parameters[each.name])) for each in unsaid)
    values = (f"{title}: {text}." for title, text in texts if text)
    facts = (*metric.facts(parameters), *values)
    holdout = board.round.active_holdout
    if holdout is not None and holdout.designs:
        return (
            *facts,
            (
                "Rows that depend on each other form groups, each whole in one set; sampling "
                "errors and guarantees count groups."
            ),
        )
    if holdout is None or holdout.effective_private_rows == holdout.private_rows:
        return facts
    return (*facts, "Rows count by weights, which are as hidden as what is to be predicted.")


def _written(value: Value) -> str:
    return value if isinstance(value, str) else show(value)


def schema_of(round: Round) -> Schema | None:
    """Return the columns of a prediction file; None for a draft without."""
    try:
        return Schema.from_json(round.schema)
    except ParameterError:
        return None


def _beginning(file: BinaryIO) -> bytes:
    """Return whole lines from the start, so that no long text is read for a few rows."""
    head = file.read(PREVIEW_BYTES)
    end = head.rfind(b"\n") + 1
    if len(head) < PREVIEW_BYTES or not end or head.startswith(PACKED):
        return head + file.read()
    return head[:end]


def metric_title(board: Board) -> str:
    """Return the metric's title, with how many places count: MAP@5."""
    metric = metrics.METRICS.get(board.metric)
    if metric is None:
        return board.metric
    known = {each.name: each.default for each in metric.parameters}
    k = board.metric_parameters.get("k", known.get("k", "k"))
    return re.sub(r"\bk\b", str(k), metric.title)


def _mechanism_title(board: Board) -> str:
    mechanism = mechanisms.MECHANISMS.get(board.mechanism)
    return mechanism.title if mechanism else board.mechanism
