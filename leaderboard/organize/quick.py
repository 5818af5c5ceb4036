"""A draft from dropped files: training data, test data, solution, and a sample if there is one."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from leaderboard.errors import Refused, refuse_fields
from leaderboard.models import (
    Competition,
    FileRole,
    QuickSetup,
    Round,
    StagedFile,
    User,
)
from leaderboard.organize.drafts import change_schema
from leaderboard.organize.dropped_files import (
    blame,
    make_sample,
    name_of,
    named,
    neutral,
    peek,
    publish_dropped,
    read_split_cells,
    read_texts_of,
    whole,
)
from leaderboard.organize.fields import RESERVED_SLUGS
from leaderboard.organize.files import add_file
from leaderboard.organize.people import may_organize_at_all
from leaderboard.organize.proposals import use_proposal
from leaderboard.organize.quick_texts import write_texts
from leaderboard.organize.scoring import Scoring, change_scoring
from leaderboard.organize.settings import create_draft
from leaderboard.organize.solutions import check_labels, install_checked
from scoring import metrics
from scoring.dropped import (
    Question,
    Sheet,
    SplitProposal,
    Target,
    assign_roles,
    draw_split,
    find_question,
    propose_splits,
    propose_target,
    write_constant,
)
from scoring.dropped.labels import align, read_labelled, shows_labels
from scoring.dropped.roles import TITLES
from scoring.errors import ParameterError, SolutionError
from scoring.guarantees.planner import plan_split
from scoring.mechanisms.needs import Need
from scoring.predictions import RowIds, Solution, read_labels, read_row_ids
from scoring.predictions.recast import with_split
from scoring.predictions.schema import USAGE_NAMES
from scoring.proposals import best_constant, choose_mechanism
from scoring.split import Shares

if TYPE_CHECKING:
    from leaderboard.organize.dropped_files import Dropped

TEAMS: Final = 60
SUBMISSIONS: Final = 100
LASTS: Final = timedelta(days=28)
BASELINES: Final = 2  # teams of their own: the constant and the sample
_MOST_PLANNED: Final = 10_000  # rows: shares of more are the same
_SPLITS_KEPT: Final = 12
_FALLBACK: Final = Shares(Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))


@dataclass(frozen=True, repr=False)
class Study:
    """What the dropped files are and propose. It holds labels: keep it for one call only."""

    sheets: Mapping[str, Sheet]
    question: Question
    target: Target
    splits: tuple[SplitProposal, ...]

    def name(self, role: str) -> str:
        """Return the name of the file in a role."""
        return self.sheets[role].name


def name_roles(files: Mapping[str, File[bytes]]) -> dict[str, str]:
    """Return the role of each dropped file, by its name. Raises Refused naming what is unclear."""
    try:
        sheets = [peek(name, file) for name, file in files.items()]
        return {sheet.name: role for role, sheet in assign_roles(sheets).items()}
    except ParameterError as error:
        raise blame("files", error.message) from None


def create_from_files(
    *,
    by: User,
    files: Mapping[str, Dropped],
    title: str,
    slug: str = "",
    teams: int = TEAMS,
    submissions: int = SUBMISSIONS,
    opens_at: datetime | None = None,
    closes_at: datetime | None = None,
    metric: str = "",
    **texts: str,
) -> Competition:
    """Make a complete draft from files by their roles, all or nothing.

    files: `train`, `test`, `solution`, `sample`; the solution is held in memory for this call only.
    metric: another one than is proposed. texts: pages in place of those that are written, by their
    names in `fields.TEXTS`. Raises Refused naming role, file, column and line.
    """
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    limits = {"teams": teams, "submissions": submissions}
    refuse_fields({name: {"variant": "too_few"} for name, n in limits.items() if n < 1})
    study = _study(files, metric)
    with _all_or_nothing() as stored, transaction.atomic():
        now = timezone.now()
        settings: dict[str, Any] = {
            "title": title,
            "slug": slug or _free_slug(title),
            "opens_at": opens_at or now,
            "closes_at": closes_at or now + LASTS,
            "total_limit": submissions,
            "daily_limit": max(1, min(20, math.ceil(submissions / 5))),
            "team_limit": teams + BASELINES,
            "question_limit": (teams + BASELINES) * submissions,
        }
        written = write_texts(study.target, study.sheets)
        competition = create_draft(by, **settings, **written | texts)
        _fill(competition, study, files, by, stored)
    return competition


def _fill(
    competition: Competition,
    study: Study,
    files: Mapping[str, Dropped],
    by: User,
    stored: list[str],
) -> None:
    """Give a draft its columns, files, solution and scoring."""
    round = competition.current_round
    change_schema(round, study.target.schema, by=by)
    metric = metrics.get(study.target.metric)
    mechanism = choose_mechanism(metric).name
    change_scoring(round.board, Scoring(metric.name, {}, mechanism, {}), by=by)
    label = study.target.label
    facts: dict[str, Any] = {
        "reasons": dict(study.target.reasons),
        "label": label.to_json() if label else None,
        "files": {role: sheet.name for role, sheet in study.sheets.items()},
    }
    setup = QuickSetup.objects.create(round=round, facts=facts)
    public = [role for role in (FileRole.TRAIN, FileRole.TEST) if role in files]
    stored.extend(publish_dropped(round, role, files[role], by) for role in public)
    round.refresh_from_db()
    use_proposal(round.board, by=by)
    constant = _constant(round, study)
    ids = _publish_sample(round, study, files, constant, by, stored)
    solution, split = _split(study, _read_solution(study, ids), ids, competition)
    setup.facts = facts | {
        "constant": list(constant) if constant else None,
        "splits": [asdict(each) for each in study.splits[:_SPLITS_KEPT]],
        "split": split,
        "sample_made": "sample" not in files,
    }
    setup.save(update_fields=["facts"])
    with named("solution", study.name("solution")):
        holdout = install_checked(round, check_labels(round, solution, ids), by=by)
    stored.append(str(holdout.sealed_solution.name))
    competition.refresh_from_db()
    use_proposal(competition.current_round.board, by=by)
    competition.refresh_from_db()
    for each in files.values():
        if isinstance(each, StagedFile):
            each.delete()


def _publish_sample(
    round: Round,
    study: Study,
    files: Mapping[str, Dropped],
    constant: tuple[str, ...] | None,
    by: User,
    stored: list[str],
) -> RowIds:
    """Publish the sample, made from the test data where there is none; return its ids."""
    test_ids = None
    if "test" in files:
        test_ids = read_texts_of(files["test"], study.sheets["test"], study.question.id_column)
    if "sample" in files:
        ids = _read_ids(whole(files["sample"]), study)
        if test_ids is not None:
            _check_same_rows(ids, test_ids, study)
        stored.append(publish_dropped(round, FileRole.SAMPLE, files["sample"], by))
        return ids
    assert test_ids is not None  # noqa: S101  (one of both has the rows)
    schema = study.target.schema
    content = make_sample(schema, test_ids.to_pylist(), constant or neutral(schema))
    ids = _read_ids(content, study)
    made = ContentFile(content, "sample_submission.csv")
    stored.append(str(add_file(round, made, role=FileRole.SAMPLE, by=by).file.name))
    return ids


def draw(split: Mapping[str, Any], solution: Solution, cells: list[str] | None) -> Solution:
    """Return the solution in sets drawn anew, by nothing that a label has a part in.

    split: by, column, by_day and the shares. Raises ParameterError.
    """
    shares = Shares(*(Fraction(split["shares"][name]) for name in ("public", "private", "final")))
    proposal = SplitProposal(split["by"], split["column"], "", split.get("by_day", False))
    seed = secrets.token_bytes(32)
    if proposal.by == "group" and not proposal.column:  # by the solution's own column Group
        assert solution.groups is not None  # noqa: S101  (only offered where there are any)
        cells = list(map(str, solution.groups.tolist()))
    usage, groups = draw_split(proposal, cells, len(solution.usage), shares, seed)
    return with_split(solution, usage, groups)


def _study(files: Mapping[str, Dropped], metric: str) -> Study:
    """Read what is needed of the files. Raises Refused."""
    if unknown := files.keys() - TITLES.keys():
        raise TypeError(f"These are no roles: {', '.join(sorted(unknown))}.")
    if "solution" not in files:
        raise blame("solution", "Give the solution: the ids of the test data with true labels.")
    sheets = dict[str, Sheet]()
    for role, file in files.items():
        with named(role, name_of(file)):
            sheets[role] = peek(name_of(file), file, whole=role in ("solution", "sample"))
    try:
        public = {role: sheets.get(role) for role in ("train", "test", "sample")}
        question = find_question(sheets["solution"], **public)
        for role, sheet in public.items():
            if sheet is not None and shows_labels(sheet, sheets["solution"], question):
                raise ParameterError(
                    role,
                    f"{sheet.name} has the hidden rows with their true labels, and participants "
                    "download it.",
                )
        target = propose_target(question, public["train"], public["sample"])
        target = _with_metric(target, metric)
        tables = {role: sheets[role].table() for role in ("test", "train") if role in sheets}
    except ParameterError as error:
        role = error.field if error.field in TITLES else "files"
        raise blame(role, error.message) from None
    splits = propose_splits(tables.get("test"), tables.get("train"), question.id_column)
    return Study(sheets, question, target, splits)


def _with_metric(target: Target, metric: str) -> Target:
    if not metric:
        return target
    known = metrics.METRICS.get(metric)
    if known is None:
        raise blame("metric", f"There is no metric called “{metric}”.")
    why = ""
    for each in filter(None, (target, target.as_probability)):
        try:
            known.check(each.schema, None, known.parse({}))
        except ParameterError as error:
            why = why or error.message
            continue
        return replace(each, metric=metric, reasons={**each.reasons, "metric": "You chose it."})
    raise blame("metric", why)


def _read_ids(content: bytes, study: Study) -> RowIds:
    """Return the row ids; what is wrong with those of a sample that was made is the test's."""
    role = "sample" if "sample" in study.sheets else "test"
    with named(role, study.name(role)):
        return read_row_ids(content, study.target.schema)


def _check_same_rows(ids: RowIds, test_ids: pa.StringArray, study: Study) -> None:
    sample, test = (study.sheets[role].name for role in ("sample", "test"))
    rows = align(ids, test_ids)
    if np.any(rows < 0):
        row = int(np.argmax(rows < 0))
        text = f"{sample}, line {row + 2}: the id “{ids[row]}” is not in {test}."
        raise blame("sample", text)
    if len(test_ids) > len(ids):
        left = np.ones(len(test_ids), bool)
        left[rows] = False
        row = int(np.argmax(left))
        text = f"{sample} lacks the id “{test_ids[row].as_py()}” of {test}, line {row + 2}"
        raise blame("sample", f"{text}, and {int(left.sum()) - 1:,} more.")


def _constant(round: Round, study: Study) -> tuple[str, ...] | None:
    """Return the best constant prediction by the training labels, as cells."""
    if "train" not in study.sheets:
        return None
    metric = metrics.get(study.target.metric)
    params = metric.parse(round.board.metric_parameters)
    schema = study.target.schema
    try:
        text = study.sheets["train"].text
        labels = read_labels(text, schema, label=study.target.label)
    except (SolutionError, ParameterError):
        return None
    best = best_constant(metric, params, schema, labels)
    return None if best is None else write_constant(schema, best)


def _read_solution(study: Study, ids: RowIds) -> Solution:
    with named("solution", study.name("solution")):
        return read_labelled(study.sheets["solution"], study.target, ids)


def _split(
    study: Study,
    solution: Solution,
    ids: RowIds,
    competition: Competition,
) -> tuple[Solution, dict[str, Any]]:
    """Return the solution in its sets, and how they came about."""
    sheet = study.sheets["solution"]
    if (usage := sheet.has(USAGE_NAMES)) is not None:
        reason = f"{sheet.name} splits the rows, by its column “{usage}”."
        return solution, {"given": True, "reason": reason, "by": "given", "column": usage}
    if solution.groups is not None:
        first = SplitProposal(
            "group", "", f"The column Group of {sheet.name} says which rows belong together."
        )
    else:
        first = study.splits[0]
    split = {
        "given": False,
        **asdict(first),
        "shares": _shares(competition, study.target, len(ids)),
    }
    try:
        cells = None
        if first.column:
            entry = competition.current_round.files.get(role=FileRole.TEST)
            cells = read_split_cells(entry, study.question.id_column, first.column, ids)
        return draw(split, solution, cells), split
    except ParameterError as error:
        if first.by == "row":
            raise blame("solution", f"{sheet.name} can't be split: {error.message}") from None
        by_row = next(each for each in study.splits if each.by == "row")
        split |= asdict(by_row) | {"reason": f"By row, as “{first.column}” can't: {error.message}"}
        return draw(split, solution, None), split


def _shares(competition: Competition, target: Target, rows: int) -> dict[str, str]:
    """Return the planner's shares for rows like these as texts, in whole per cent."""
    of_round, metric = competition.current_round, metrics.get(target.metric)
    mechanism = choose_mechanism(metric)
    planned = min(rows, _MOST_PLANNED)
    found = None
    try:
        need = Need(
            rows=planned,
            teams=of_round.team_limit or TEAMS,
            submissions=of_round.total_limit or SUBMISSIONS,
            metric="mean" if metric.is_mean else "set",
        )
        found = plan_split(need, mechanism.name)
    except ParameterError:
        found = None
    if found is None or found.separated is None:
        return {name: str(share) for name, share in vars(_FALLBACK).items()}
    public, final = (
        Fraction(round(Fraction(100 * count, planned)), 100)
        for count in (found.public, found.final)
    )
    return {"public": str(public), "private": str(1 - public - final), "final": str(final)}


def _free_slug(title: str) -> str:
    """Return a short name that no competition has."""
    stem = slugify(title)[:50].strip("-") or "competition"
    taken = set(Competition.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in {*taken, *RESERVED_SLUGS})


@contextmanager
def _all_or_nothing() -> Iterator[list[str]]:
    """Delete the files of this list where the block fails: the database forgets its rows."""
    stored = list[str]()
    try:
        yield stored
    except BaseException:
        for name in filter(None, stored):
            default_storage.delete(name)
        raise
