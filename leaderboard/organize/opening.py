"""The checklist, and the opening of a draft that passes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.ledger.heads import start_ledger
from leaderboard.models import Competition, EventKind, Round, User
from leaderboard.notify import events
from leaderboard.organize.parts import sample_ids, schema_of
from leaderboard.organize.scoring import (
    check_mechanism_fits,
    check_metric_fits,
    effective_rows,
)
from scoring.errors import HoldfastError, ParameterError


@dataclass(frozen=True)
class Check:
    """A line of the checklist: what must hold, whether it does, and what to do if not."""

    name: str
    title: str
    passed: bool
    detail: str


def checklist(competition: Competition) -> list[Check]:
    """Return what must be green before the competition opens."""
    round = competition.current_round
    tests: tuple[tuple[str, str, Callable[[Round], str]], ...] = (
        ("texts", "Texts", _check_texts),
        ("times", "Times", _check_times),
        ("schema", "Prediction schema", _check_schema),
        ("sample", "Sample submission", _check_sample_file),
        ("metric", "Metric fits the schema", _check_metric),
        ("solution", "Solution: ids match the sample, usage of each row", _check_holdout),
        ("mechanism", "Mechanism fits the metric and the rows", _check_mechanism),
    )
    return [_run(name, title, test, round) for name, title, test in tests]


def open_competition(competition: Competition, *, by: User | None = None) -> None:
    """Open a draft whose checklist is green. Raises Refused with what is missing."""
    check_right(by, competition, Right.EDIT)
    missing = [check for check in checklist(competition) if not check.passed]
    if missing:
        raise Refused(
            "checklist_not_green",
            missing=" ".join(f"{check.title}: {check.detail}" for check in missing),
        )
    with transaction.atomic():
        locked = lock.lock(competition)
        if locked.opened_by_organizer_at is None:
            locked.opened_by_organizer_at = timezone.now()
            locked.save(update_fields=["opened_by_organizer_at"])
            for round in locked.rounds.filter(ledger__isnull=False):
                start_ledger(round)
            events.record(locked, EventKind.OPENED, actor=by)
    competition.refresh_from_db()


_WHOLE_FIELDS = ("schema", "metric", "mechanism", "solution")


def _run(name: str, title: str, test: Callable[[Round], str], round: Round) -> Check:
    try:
        return Check(name, title, True, test(round))
    except ParameterError as error:
        whole = error.field in _WHOLE_FIELDS
        return Check(name, title, False, error.message if whole else str(error))
    except (HoldfastError, Refused) as error:
        return Check(name, title, False, str(error))


def _check_texts(round: Round) -> str:
    competition = round.competition
    for name, text in (("overview", competition.description), ("rules", competition.rules)):
        if not text.strip():
            raise Refused("invalid", field=name, variant="page_empty", page=name)
    return "Overview and rules are written."


def _check_times(round: Round) -> str:
    if round.closes_at is None:
        return "It has no end."
    if round.closes_at <= timezone.now():
        raise Refused("invalid", field="closes_at", variant="closing_passed")
    return "It closes in the future."


def _check_schema(round: Round) -> str:
    return f"Header: {','.join(schema_of(round).header)}"


def _check_sample_file(round: Round) -> str:
    ids = sample_ids(round, schema_of(round))
    if ids is None:
        raise Refused("invalid", field="file", variant="no_sample")
    return f"{len(ids)} rows."


def _check_holdout(round: Round) -> str:
    holdout = round.active_holdout
    if holdout is None:
        raise Refused("invalid", field="solution", variant="no_solution")
    ids = sample_ids(round, schema_of(round))
    if ids is None or ids.digest != holdout.row_ids_digest:
        raise Refused("invalid", field="solution", variant="sample_changed")
    return (
        f"Sealed: {holdout.public_rows} Public, {holdout.private_rows} Private, "
        f"{holdout.final_rows} Final, {holdout.ignored_rows} Ignored rows."
    )


def _check_metric(round: Round) -> str:
    titles = []
    for board in round.boards.all():
        if not board.metric:
            raise Refused("invalid", field="metric", variant="no_metric")
        titles.append(check_metric_fits(board, schema_of(round)))
    return " ".join(titles)


def _check_mechanism(round: Round) -> str:
    holdout, titles = round.active_holdout, []
    for board in round.boards.all():
        if not board.mechanism:
            raise Refused("invalid", field="mechanism", variant="no_mechanism")
        if holdout is None:
            raise Refused("invalid", field="solution", variant="no_solution")
        titles.append(check_mechanism_fits(board, effective_rows(holdout)))
    return " ".join(titles)
