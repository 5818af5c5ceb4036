"""Competitions, their files and what may be known of their mechanism."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import BinaryIO

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from leaderboard.access import Person, visible_competitions
from leaderboard.models import (
    Competition,
    CompetitionFile,
    FileRole,
    Holdout,
    HoldoutState,
    Phase,
    Standing,
    Team,
    User,
)
from leaderboard.platform.files import open_stored
from scoring import mechanisms, metrics
from scoring.errors import ParameterError, SolutionError
from scoring.parameters import Value, show
from scoring.predictions import Preview, Schema, preview

PREVIEW_BYTES = 256 * 1024
# gzip, zstd, zip, Parquet: only the whole of them can be read.
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1")


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
    revealed_at: datetime | None


@dataclass(frozen=True)
class CompetitionHead:
    """What stands above all pages of a competition. Empty titles: not chosen yet.

    `paused`: why nothing is taken or answered, a `Halt`; empty where it runs.
    """

    phase: Phase
    metric: str
    mechanism: str
    teams: int
    paused: str


@dataclass(frozen=True)
class MechanismFacts:
    """What may be known of the mechanism of a board: name, sentence, parameters, rows, budget."""

    name: str
    title: str
    description: str
    parameters: tuple[tuple[str, str, str], ...]
    private_rows: int
    effective_rows: int
    public_rows: int
    asked: int
    answered: int
    budget_left: int | None


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
            revealed_at=row.revealed_at,
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
        paused=competition.paused_for(),
    )


def public_files(competition: Competition) -> QuerySet[CompetitionFile]:
    """The files of the data page."""
    return competition.files.order_by("name")


def expected_file(competition: Competition, rows: int = 5) -> Preview | None:
    """Header and first rows of the sample submission; None without one that fits the schema."""
    sample = competition.files.filter(role=FileRole.SAMPLE).first()
    if sample is None or not competition.schema:
        return None
    schema = json.dumps(competition.schema, sort_keys=True)
    return _first_rows(str(sample.file.name), sample.sha256, schema, rows)


@lru_cache(maxsize=128)
def _first_rows(name: str, sha256: str, schema: str, rows: int) -> Preview | None:
    """Kept for each content and schema: to see the first rows of an archive all is expanded."""
    try:
        with open_stored(name) as file:
            return preview(_beginning(file), Schema.from_json(json.loads(schema)), rows)
    except (ParameterError, SolutionError):
        return None


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
        effective_rows=holdout.effective_private_rows,
        public_rows=holdout.public_rows,
        asked=state.asked if state else 0,
        answered=state.answered if state else 0,
        budget_left=state.budget_left if state else None,
    )


def metric_facts(competition: Competition) -> tuple[str, ...]:
    """Sentences on what the metric measures, its range, what is cut and how rows count.

    None for a draft.
    """
    try:
        metric = metrics.get(competition.metric)
        parameters = metric.parse(competition.metric_parameters)
    except ParameterError:
        return ()
    unsaid = (each for each in metric.parameters if f"{{{each.name}}}" not in metric.clipping)
    values = (f"{each.title}: {_written(parameters[each.name])}." for each in unsaid)
    return (*metric.facts(parameters), *values, *_weights(competition))


def _written(value: Value) -> str:
    return value if isinstance(value, str) else show(value)


def _weights(competition: Competition) -> tuple[str, ...]:
    holdout = holdout_in_force(competition)
    if holdout is None or holdout.effective_private_rows == holdout.private_rows:
        return ()
    return ("Rows count by weights, which are as hidden as what is to be predicted.",)


def schema_of(competition: Competition) -> Schema | None:
    """The columns of a prediction file; None for a draft without."""
    try:
        return Schema.from_json(competition.schema)
    except ParameterError:
        return None


def holdout_in_force(competition: Competition) -> Holdout | None:
    """The holdout that answers now."""
    return competition.holdouts.filter(retired_at__isnull=True).first()


def _beginning(file: BinaryIO) -> bytes:
    """Whole lines from the start of a text, so that a long file is not read for a few rows."""
    head = file.read(PREVIEW_BYTES)
    end = head.rfind(b"\n") + 1
    if len(head) < PREVIEW_BYTES or not end or head.startswith(PACKED):
        return head + file.read()
    return head[:end]


def _metric_title(competition: Competition) -> str:
    """The metric's title, with how many places count: MAP@5."""
    metric = metrics.METRICS.get(competition.metric)
    if metric is None:
        return competition.metric
    known = {each.name: each.default for each in metric.parameters}
    k = competition.metric_parameters.get("k", known.get("k", "k"))
    return re.sub(r"\bk\b", str(k), metric.title)


def _mechanism_title(competition: Competition) -> str:
    mechanism = mechanisms.MECHANISMS.get(competition.mechanism)
    return mechanism.title if mechanism else competition.mechanism
