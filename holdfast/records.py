"""What the server says, as typed records: frozen, with times as datetimes, shown as HTML tables.

Each keeps the server's own object as `json`, with all fields of docs/api.md and those that a newer
server adds.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from html import escape
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import pandas
    import polars

Json = dict[str, Any]
MOST_SHOWN = 50  # rows of a list in a notebook


@dataclass(frozen=True, kw_only=True)
class Record:
    """An object of the API."""

    json: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls, data: Json) -> Self:
        """Return the record of an object; what the server left out is None."""
        record: Any = cls
        kinds = _kinds(record)
        known = (each.name for each in fields(cls) if each.name != "json")
        return cls(json=data, **{name: _read(kinds[name], data.get(name)) for name in known})

    def cells(self) -> dict[str, Any]:
        """Return the fields with a plain value by name, those of records within as theirs."""
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Record):
                found |= {f"{each.name}_{name}": cell for name, cell in value.cells().items()}
            elif each.name != "json" and not isinstance(value, list | dict):
                found[each.name] = value
        return found

    def _repr_html_(self) -> str:
        known = ((name, cell) for name, cell in self.cells().items() if cell not in (None, ""))
        rows = "".join(f"<tr><th>{escape(name)}</th>{_cell(cell, '')}</tr>" for name, cell in known)
        return f"<table>{rows}</table>"


R = TypeVar("R", bound=Record)


class Rows(list[R]):
    """A list of records, all of the server's or a page.

    `total` is how many there are in all, `about` what else the server said with the list.
    """

    def __init__(
        self, records: Iterable[R] = (), total: int | None = None, about: Json | None = None
    ) -> None:
        super().__init__(records)
        self.total = len(self) if total is None else total
        self.about = about or {}

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the plain fields as a data frame of pandas."""
        import pandas

        return pandas.DataFrame([record.cells() for record in self])

    def to_polars(self) -> "polars.DataFrame":
        """Return the plain fields as a data frame of polars."""
        import polars

        return polars.DataFrame([record.cells() for record in self], infer_schema_length=None)

    def _repr_html_(self) -> str:
        rows = [record.cells() for record in self[:MOST_SHOWN]]
        names = [n for n in (rows[0] if rows else ()) if any(r[n] not in (None, "") for r in rows)]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(_cell(row[name]) for name in names)}</tr>" for row in rows)
        more = f"<p>{len(rows):,} of {self.total:,}</p>" if len(rows) < self.total else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


@dataclass(frozen=True, kw_only=True)
class Interval(Record):
    """The ends of an interval of scores."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class MyTeam(Record):
    """A team of yours."""

    competition: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """Who is signed in, and what the token may do.

    A token that is bound to a competition reads that and submits to it, and nothing else.
    """

    username: str
    email: str
    is_organizer: bool
    token_expires_at: datetime | None
    token_scopes: list[str] | None
    token_competition: str | None
    token_campaign: str | None
    token_quota: int | None
    token_quota_left: int | None
    teams: list[MyTeam]


@dataclass(frozen=True, kw_only=True)
class Summary(Record):
    """A competition in the list of all."""

    slug: str
    title: str
    phase: str
    opens_at: datetime
    closes_at: datetime | None
    metric: str
    mechanism: str
    teams: int | None
    submissions: int | None
    joined: bool


@dataclass(frozen=True, kw_only=True)
class Info(Record):
    """What may be known of a competition; the mechanism's facts and all texts are in `json`."""

    slug: str
    title: str
    tagline: str
    phase: str
    opens_at: datetime
    closes_at: datetime | None
    metric: str
    direction: str
    daily_limit: int
    total_limit: int | None
    team_size: int
    max_file_bytes: int
    finals_limit: int
    is_hidden: bool
    joined: bool
    rules: str
    rules_version: int


@dataclass(frozen=True, kw_only=True)
class File(Record):
    """A file to download."""

    name: str
    role: str
    description: str
    size: int
    sha256: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Announcement(Record):
    """What the organizers announced."""

    number: int
    title: str
    body: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Notice(Record):
    """Something that happened and concerns you; `read_at` is None until you have read it."""

    id: str
    kind: str
    competition: str
    title: str
    text: str
    url: str
    created_at: datetime
    read_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Limits(Record):
    """What a team may still submit; `summary` says it in words."""

    daily_limit: int
    daily_left: int
    renews_at: datetime
    total_limit: int | None
    total_left: int | None
    left: int
    summary: str


@dataclass(frozen=True, kw_only=True)
class Member(Record):
    """A member of a team."""

    username: str
    is_captain: bool


@dataclass(frozen=True, kw_only=True)
class Team(Record):
    """Your team; `uid` is its permanent id, which rows of boards carry as `team_uid`."""

    uid: str
    name: str
    competition: str
    members: list[Member]
    limits: Limits | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class TeamResult(Record):
    """What a team has reached in a round, on the final board or on the running one."""

    round: int
    team: str
    is_final: bool
    rank: int | None
    tied: bool
    teams: int
    score_text: str
    entries: int | None


@dataclass(frozen=True, kw_only=True)
class TeamPage(Record):
    """A team as others see it; `unnamed` more members are shown by the team's name alone."""

    uid: str
    name: str
    competition: str
    members: list[Member]
    unnamed: int
    merged: list[str]
    results: list[TeamResult]
    disqualified_because: str
    is_mine: bool
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Place(Record):
    """A place on a final board."""

    round: int
    rank: int
    tied: bool
    teams: int


@dataclass(frozen=True, kw_only=True)
class PersonTeam(Record):
    """A competition that a person takes part in."""

    competition: str
    title: str
    phase: str
    team: str
    team_uid: str
    places: list[Place]


@dataclass(frozen=True, kw_only=True)
class Person(Record):
    """A person as others see them."""

    username: str
    joined_at: datetime
    competitions: list[PersonTeam]


@dataclass(frozen=True, kw_only=True)
class Invitation(Record):
    """An invitation to your team: a link, mailed to `email` if that is not empty."""

    token: str
    url: str
    email: str
    mail: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class NamedTeam(Record):
    """A team by its permanent id."""

    uid: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Mergers(Record):
    """Who asks whom to merge: the team that asks becomes a part of the other."""

    asked: NamedTeam | None
    asking: list[NamedTeam]


@dataclass(frozen=True, kw_only=True)
class Merger(Record):
    """What it would do if `team` became a part of `into`; `problem` is empty where it can."""

    team: NamedTeam
    into: NamedTeam
    members: int
    team_size: int
    submissions: int
    daily_left: int
    total_left: int | None
    problem: str


@dataclass(frozen=True, kw_only=True)
class Exposure(Record):
    """What answers have told of the hidden rows.

    `nats` is what they cost by the ledger's laws, `before` and `after` half the width of the
    leading score's guarantee by the first and the last question; None where there is none.
    """

    questions: int
    informative: int
    nats: float | None
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Campaign(Record):
    """A name under which your team's submissions are grouped, such as an agent's run.

    `used` counts towards the `limit`, as quotas count; None for no limit. The exposures of team and
    competition come with a campaign that is asked for alone.
    """

    name: str
    limit: int | None
    used: int
    left: int | None
    submissions: int
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    exposure: Exposure
    team_exposure: Exposure | None
    competition_exposure: Exposure | None


@dataclass(frozen=True, kw_only=True)
class Release(Record):
    """What the board said of a submission; `certificate` is what it guarantees.

    runs: of a model, of which the score is the mean; `spread` is their scores' standard deviation
    on the Public rows.
    """

    kind: str
    score: float | None
    score_text: str | None
    sampling: Interval | None
    certificate: Interval | None
    guarantee_text: str
    share_left: int | None
    is_repeat: bool
    repeats: int | None
    runs: int | None
    spread: float | None


@dataclass(frozen=True, kw_only=True)
class FinalEntry(Record):
    """The exact score of an entered submission, once it is revealed."""

    number: int
    score: float
    score_text: str
    sampling: Interval | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Gate(Record):
    """A yes-or-no question that is fixed beforehand, and what its answers promise now."""

    name: str
    kind: str
    metric: str
    asks: str
    bound: float
    margin: float
    on_pass: str
    on_fail: str
    in_use: int | None
    left: int
    limit: int
    closed: str


@dataclass(frozen=True, kw_only=True)
class GateAnswer(Record):
    """What a gate said of a submission; `is_repeat`: before, so that nothing was asked."""

    passed: bool
    asks: str
    promise: str
    is_repeat: bool
    left: int
    limit: int


@dataclass(frozen=True, kw_only=True)
class Submission(Record):
    """A submission of your team. `status`: queued, scoring, released, rejected or failed.

    receipt: the server's signed promise that the submission is in the public log.
    """

    number: int
    status: str
    summary: str
    message: str
    campaign: str | None
    file_name: str
    size: int
    sha256: str
    user: str
    is_final: bool
    problems: list[Json]
    problem_count: int
    takes_quota: bool
    is_practice: bool
    release: Release | None
    gate: str | None
    passed: bool | None
    gate_answer: GateAnswer | None
    final: FinalEntry | None
    created_at: datetime
    finished_at: datetime | None
    receipt: str | None

    @property
    def score(self) -> float | None:
        """Return the released score; None as long as there is none."""
        return None if self.release is None else self.release.score

    def cells(self) -> dict[str, Any]:
        shown = ("number", "created_at", "file_name", "message", "status", "summary")
        answer = {"answer": self.release and self.release.kind, "score": self.score}
        return {**{name: getattr(self, name) for name in shown}, **answer}


@dataclass(frozen=True, kw_only=True)
class BoardRow(Record):
    """A row of the board; `rank` is None on a board that is hidden until the end.

    variants: how many different files the team had answered.
    """

    rank: int | None
    team: str
    team_uid: str
    score: float | None
    score_text: str | None
    sampling: Interval | None
    certificate: Interval | None
    entries: int
    variants: int
    last_improvement_at: datetime | None
    last_answer: str
    is_baseline: bool
    is_mine: bool


@dataclass(frozen=True, kw_only=True)
class FinalRow(Record):
    """A row of the final board, with the places that the team could have."""

    rank: int
    best_place: int | None
    worst_place: int | None
    could_be_first: bool | None
    team: str
    team_uid: str
    best: FinalEntry
    released_rank: int | None
    released_score_text: str | None
    move: int | None
    is_baseline: bool
    is_mine: bool


@dataclass(frozen=True, kw_only=True)
class Guarantee(Record):
    """What a board promises of its leading score; `half_width` is None where nothing is."""

    sentence: str
    questions_text: str
    score_text: str
    half_width: float | None
    interval: Interval | None
    half_width_at_end: float | None
    confidence: float
    answered: int
    limit: int | None


class Board(Rows[R]):
    """The rows of a board, with its guarantee and your own row wherever it stands."""

    @property
    def guarantee(self) -> Guarantee | None:
        """Return what the board promises; None where it has no scores, or no means."""
        found = self.about.get("guarantee")
        return Guarantee.read(found) if found else None

    @property
    def me(self) -> Json | None:
        """Return your own row as the API writes it; None without a team."""
        return self.about.get("me")


@dataclass(frozen=True, kw_only=True)
class ColumnDifference(Record):
    """How far a column differs; `mean` is by how much on average, of numbers."""

    name: str
    differing: int
    mean: float | None


@dataclass(frozen=True, kw_only=True)
class Comparison(Record):
    """How far two submissions differ: in how many of the rows, and in which columns."""

    rows: int
    differing: int
    columns: list[ColumnDifference]


@dataclass(frozen=True, kw_only=True)
class Selection(Record):
    """What your team enters for the final scores."""

    limit: int
    numbers: list[int]
    entered: list[int]
    may_change: bool
    summary: str


@cache
def _kinds(record: Hashable) -> dict[str, Any]:
    return get_type_hints(record)


def _read(kind: Any, value: Any) -> Any:
    """Return a value of JSON as its type says: records, lists of them, moments."""
    if isinstance(kind, UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    if value is None:
        return None
    if get_origin(kind) is list and isinstance(value, list):
        return [_read(get_args(kind)[0], each) for each in value]
    if kind is datetime:
        return datetime.fromisoformat(value)
    if isinstance(kind, type) and issubclass(kind, Record) and isinstance(value, Mapping):
        return kind.read(dict(value))
    return value


def _cell(value: object, style: str = ' style="text-align: right"') -> str:
    text = f"{value.astimezone():%Y-%m-%d %H:%M %Z}" if isinstance(value, datetime) else str(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{style * number}>{escape('' if value is None else text)}</td>"
