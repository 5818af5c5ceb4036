"""Making a draft of a bundle, all of it or nothing, after saying what can't be carried over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Final, cast

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from bundles.bundle import BoardPart, Bundle, RoundPart
from bundles.errors import BundleError
from bundles.folders import Limits, open_zip
from bundles.reading import read_any
from bundles.tables import make_sample, read_table
from bundles.templates import read_template
from leaderboard.errors import Refused
from leaderboard.models import Audience, Board, Competition, EventKind, FileRole, Round, User
from leaderboard.notify import events
from leaderboard.organize.bundles.exports import PAGES
from leaderboard.organize.creation import add_board, add_round
from leaderboard.organize.drafts import change_schema
from leaderboard.organize.fields import RESERVED_SLUGS
from leaderboard.organize.files import add_file
from leaderboard.organize.people import may_organize_at_all
from leaderboard.organize.proposals import of_kind, propose
from leaderboard.organize.scoring import Scoring, change_scoring
from leaderboard.organize.settings import create_draft
from leaderboard.organize.solutions import install_solution
from scoring import metrics
from scoring.errors import HoldfastError, ParameterError
from scoring.predictions import Schema
from scoring.proposals import choose_mechanism

_SLUG_LENGTH: Final = 60
_MADE_SAMPLE: Final = "sample_submission.csv"
_CONSTANT_KINDS: Final = ("label", "number", "probability")


@dataclass(frozen=True)
class Plan:
    """What an import would make, and what of the bundle it can't carry over, in sentences."""

    bundle: Bundle
    slug: str
    title: str
    lost: tuple[str, ...]
    moved: timedelta

    @property
    def rounds(self) -> tuple[RoundPart, ...]:
        return self.bundle.rounds


def plan_bundle(file: File[bytes] | BinaryIO, *, by: User, slug: str = "") -> Plan:
    """Read a bundle and return what an import would make; make nothing.

    Raises Refused with all that is wrong.
    """
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    with _told():
        bundle = read_any(open_zip(cast(BinaryIO, file), _limits()))
    return plan_of(bundle, slug)


def import_bundle(
    file: File[bytes] | BinaryIO, *, by: User, slug: str = "", sure: bool = False
) -> Competition:
    """Make a draft of a bundle. Raises Refused, having made nothing.

    slug: another short name than the bundle's. sure: its public files hold no hidden labels,
    though one looks as if it did. The plain labels of a solution are in memory for the time of this
    call only.
    """
    plan = plan_bundle(file, by=by, slug=slug)
    return make_draft(plan, by=by, sure=sure)


def import_template(name: str, *, by: User, slug: str = "") -> Competition:
    """Make a draft of a bundle that comes with Holdfast. Raises Refused."""
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    with _told():
        bundle = read_template(name)
    return make_draft(plan_of(bundle, slug), by=by)


def plan_of(bundle: Bundle, slug: str = "") -> Plan:
    """Return what an import of a bundle would make. Raises Refused."""
    with _told():
        return _plan(bundle, slug)


def make_draft(
    plan: Plan,
    *,
    by: User,
    sure: bool = False,
    kind: EventKind = EventKind.IMPORTED,
    **facts: Any,
) -> Competition:
    """Make what is planned, in one transaction. Raises Refused, having made nothing."""
    making = _Making(plan, by, sure)
    with _told(), making.all_or_nothing():
        competition = making.competition()
        first, *later = plan.rounds
        making.fill(competition.rounds.get(), first)
        for part in later:
            making.fill(making.round(competition, part), part)
        making.seal_again(competition)
        events.record(
            competition,
            kind,
            actor=by,
            audience=Audience.ORGANIZERS,
            source=plan.bundle.source,
            lost=list(plan.lost),
            **facts,
        )
    competition.refresh_from_db()
    return competition


@dataclass
class _Making:
    """A draft in the making, with the names of the files that were stored for it."""

    plan: Plan
    by: User
    sure: bool
    stored: list[str] = field(default_factory=list)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Make it in one transaction; where that fails, delete what was stored."""
        try:
            with transaction.atomic():
                yield
        except BaseException:
            for name in self.stored:
                default_storage.delete(name)
            raise

    def competition(self) -> Competition:
        bundle, first = self.plan.bundle, self.plan.rounds[0]
        texts = {PAGES[page]: text for page, text in bundle.texts.items()}
        given = bundle.settings | texts | self._settings(first)
        given |= {"slug": self.plan.slug, "title": self.plan.title}
        return create_draft(self.by, **given)

    def round(self, competition: Competition, part: RoundPart) -> Round:
        return add_round(competition, by=self.by, continues=part.continues, **self._settings(part))

    def fill(self, round: Round, part: RoundPart) -> None:
        """Give a round its columns, boards, files and solution."""
        if part.title:
            round.title = part.title
            round.save(update_fields=["title"])
        if part.columns is not None:
            change_schema(round, Schema.from_json(part.columns), by=self.by)
        first, *others = part.boards
        board = round.boards.get()
        change_scoring(board, _scoring(round, first), by=self.by)
        added = [add_board(round, by=self.by, **vars(_scoring(round, each))) for each in others]
        for made, each in zip((board, *added), part.boards, strict=True):
            made.title = each.title
            made.save(update_fields=["title"])
        folder = self.plan.bundle.folder
        for file in part.files:
            with _blaming(file.path):
                self._add(round, file.path, folder.read(file.path), file.role, file.description)
        if not part.solution:
            return
        with _blaming(part.solution):
            if not any(file.role == FileRole.SAMPLE for file in part.files):
                self._make_sample(round, part, folder.read(part.solution))
        self._seal(round, part)

    def seal_again(self, competition: Competition) -> None:
        """Seal what a board that a later round has besides withdrew: labels must fit it as well."""
        for round, part in zip(competition.rounds.all(), self.plan.rounds, strict=True):
            if part.solution and round.active_holdout is None:
                self._seal(round, part)

    def _seal(self, round: Round, part: RoundPart) -> None:
        content = self.plan.bundle.folder.read(part.solution)
        with _blaming(part.solution):
            name = part.solution.rpartition("/")[2]
            holdout = install_solution(round, ContentFile(content, name=name), by=self.by)
            self.stored.append(holdout.sealed_solution.name or "")
        for board, each in zip(round.boards.all(), part.boards, strict=True):
            if not each.mechanism:  # what is proposed depends on the rows, which are known now
                scoring = _scoring(round, each)
                kept = replace(scoring, metric_parameters=board.metric_parameters)
                change_scoring(board, kept, by=self.by)

    def _make_sample(self, round: Round, part: RoundPart, solution: bytes) -> None:
        """Publish a sample that says the same of every row of the solution."""
        columns = (part.columns or {}).get("columns", [])
        if any(each["kind"] not in _CONSTANT_KINDS for each in columns):
            raise Refused("invalid", field="bundle", variant="sample_first")
        ids = (part.columns or {})["id_column"]
        table = read_table(solution, part.solution)
        sample = make_sample(table.columns.get(ids, []), ids, columns)
        self._add(round, _MADE_SAMPLE, sample, FileRole.SAMPLE, "")

    def _add(self, round: Round, path: str, content: bytes, role: str, described: str) -> None:
        file = ContentFile(content, name=path.rpartition("/")[2])
        entry = add_file(round, file, role=role, description=described, sure=self.sure, by=self.by)
        self.stored.append(entry.file.name or "")

    def _settings(self, part: RoundPart) -> dict[str, Any]:
        """Return a round's settings with its times, which may begin later than the bundle's."""
        given = dict(part.settings)
        given["opens_at"] = given.get("opens_at") or timezone.now()
        for name in ("opens_at", "closes_at"):
            if given.get(name):
                given[name] += self.plan.moved
        return given


def _plan(bundle: Bundle, slug: str) -> Plan:
    lost = list(bundle.lost)
    title = bundle.settings.get("title") or "New competition"
    given = slug or _free_slug(bundle.slug or slugify(title))
    if not slug and bundle.slug and given != bundle.slug:
        lost.append(f"The short name {bundle.slug} is taken here: {given} is proposed.")
    rounds = list(bundle.rounds)
    if any(round.continues for round in rounds[1:]) and not rounds[0].solution:
        lost += [
            f"Round {number} goes on with the rows of the one before, whose solution is not in the "
            "bundle. Add the round once that is sealed."
            for number, round in enumerate(rounds, 1)
            if round.continues
        ]
        rounds = rounds[: next(at for at, round in enumerate(rounds) if round.continues)]
    elif not any(round.solution for round in rounds):
        lost.append("The solution is not in the bundle: upload it on the page Solution.")
    for number, round in enumerate(rounds, 1):
        _check_scores(round, number)
    moved = _move_times(rounds)
    if moved:
        lost.append(
            f"Its times have passed: they are set {moved.days:,} days later. Change them on the "
            "page Settings."
        )
    return Plan(replace(bundle, rounds=tuple(rounds)), given, title, tuple(lost), moved)


def _check_scores(round: RoundPart, number: int) -> None:
    """Refuse columns and metrics before anything is made. Raises Refused."""
    try:
        schema = Schema.from_json(round.columns) if round.columns is not None else None
        for board in round.boards:
            metric = metrics.get(board.metric)
            if schema is not None:
                metric.check(schema, None, metric.parse(board.metric_parameters))
    except ParameterError as error:
        raise _refused(f"Round {number}: {error}") from None


def _move_times(rounds: list[RoundPart]) -> timedelta:
    """Return by how many whole days times move, so that none ends before today."""
    now = timezone.now()
    ends: list[datetime] = [
        round.settings["closes_at"] for round in rounds if round.settings.get("closes_at")
    ]
    begins: datetime = rounds[0].settings.get("opens_at") or now
    if not ends or min(ends) > now:
        return timedelta()
    return timedelta(days=max(0, (now - begins).days) + 1)


def _scoring(round: Round, part: BoardPart) -> Scoring:
    """Return how a board scores: what the bundle says, and where it names no mechanism, what is
    proposed."""
    own = Scoring(**{name: getattr(part, name) for name in Scoring.__dataclass_fields__})
    if part.mechanism or part.metric not in metrics.METRICS:
        return own
    board = Board(round=round, metric=part.metric, metric_parameters=part.metric_parameters)
    given = {each.field: each.value for each in propose(board)}
    return Scoring(
        metric=part.metric,
        metric_parameters=of_kind("metric_parameters", given) | part.metric_parameters,
        mechanism=given.get("mechanism") or choose_mechanism(metrics.get(part.metric)).name,
        mechanism_parameters=of_kind("mechanism_parameters", given) | part.mechanism_parameters,
    )


def _free_slug(wanted: str) -> str:
    """Return a short name that nobody has."""
    wanted = wanted[: _SLUG_LENGTH - 4] or "competition"
    tried = (wanted, *(f"{wanted}-{number}" for number in range(2, 1000)))
    taken = set(Competition.objects.filter(slug__in=tried).values_list("slug", flat=True))
    return next(each for each in tried if each not in taken and each not in RESERVED_SLUGS)


def _limits() -> Limits:
    return Limits(
        unpacked=settings.BUNDLE_MAX_BYTES,
        files=settings.BUNDLE_MAX_FILES,
        ratio=settings.BUNDLE_MAX_RATIO,
    )


def _refused(*messages: str) -> Refused:
    return Refused("invalid", errors=[{"field": "bundle", "message": each} for each in messages])


@contextmanager
def _told() -> Iterator[None]:
    """Turn what is wrong with a bundle into a refusal of it."""
    try:
        yield
    except BundleError as error:
        raise _refused(*map(str, error.troubles)) from None
    except HoldfastError as error:
        raise _refused(str(error)) from None


@contextmanager
def _blaming(path: str) -> Iterator[None]:
    """Name the file that is to blame."""
    try:
        yield
    except Refused as refused:
        if refused.code == "not_allowed":
            raise
        raise _refused(f"{path}: {refused}") from None
    except HoldfastError as error:
        raise _refused(f"{path}: {error}") from None
