"""The checklist, and the opening of a draft that passes it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock
from leaderboard.models import Board, Competition, EventKind, Holdout, Round, User
from leaderboard.notify import events
from leaderboard.organize.beginning import begin_ledger
from leaderboard.organize.fields import TIMES, find_lacking
from leaderboard.organize.files import sample_ids, schema_of
from leaderboard.organize.same_rows import check_rows_are_free, claim_rows
from leaderboard.organize.scoring import (
    check_mechanism_fits,
    check_metric_fits,
    effective_rows,
    hidden_teams,
)
from leaderboard.organize.trials import throw_away
from leaderboard.pipeline.queue import enqueue_baselines
from scoring.errors import HoldfastError, ParameterError
from scoring.predictions import RowIds


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
        ("schema", "Prediction file", lambda round: f"Header: {','.join(schema_of(round).header)}"),
        ("sample", "Sample submission", lambda round: f"{len(_sample(round))} rows."),
        (
            "metric",
            "Metric fits the columns",
            lambda round: _check_boards(
                round, "metric", lambda board: check_metric_fits(board, schema_of(round))
            ),
        ),
        ("solution", "Solution: ids match the sample, usage of each row", _check_holdout),
        (
            "mechanism",
            "Mechanism fits the metric and the rows",
            lambda round: _check_boards(
                round,
                "mechanism",
                lambda board: check_mechanism_fits(
                    board, effective_rows(_sealed(round)), hidden_teams(round)
                ),
            ),
        ),
    )
    if round.is_hidden:
        tests = (*tests, ("hidden", "Hidden until the end", _check_hidden))
    return [_run(name, title, test, round) for name, title, test in tests]


def open_competition(
    competition: Competition, *, by: User | None = None, baselines: bool = False
) -> None:
    """Open a draft whose checklist is green. Raises Refused with what is missing.

    Its trials are thrown away. baselines: the best constant prediction and the sample submission
    become teams that participants see, beside the trials that were marked.
    """
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
            _claim(locked)
            for each in locked.rounds.all():
                throw_away(each, baselines=baselines)
                transaction.on_commit(partial(enqueue_baselines, each.pk))
            for round in locked.rounds.filter(ledger__isnull=False).order_by("number"):
                begin_ledger(round)
            first = locked.current_round
            times = {name: getattr(first, name) for name in TIMES}
            shown = {name: at.isoformat(timespec="seconds") for name, at in times.items() if at}
            subjects = {"round": first.number}
            events.record(locked, EventKind.OPENED, actor=by, subjects=subjects, **shown)
    competition.refresh_from_db()


def _claim(competition: Competition) -> None:
    """Claim the rows of all rounds: since the checklist was read others may have opened."""
    for round in competition.rounds.filter(continues=None).order_by("number"):
        is_first = round.number == competition.current_round.number
        if is_first or round.active_holdout is not None:
            claim_rows(round, _sealed(round).row_ids_digest)


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


def _check_hidden(round: Round) -> str:
    for name, facts in find_lacking(round).items():
        raise Refused("invalid", field=name, **facts)
    return f"At most {round.team_limit} teams and {round.question_limit} questions in all."


def _sample(round: Round) -> RowIds:
    ids = sample_ids(round, schema_of(round))
    if ids is None:
        raise Refused("invalid", field="file", variant="no_sample")
    return ids


def _check_holdout(round: Round) -> str:
    holdout = _sealed(round)
    if _sample(round).digest != holdout.row_ids_digest:
        raise Refused("invalid", field="solution", variant="sample_changed")
    check_rows_are_free(round, holdout.row_ids_digest)
    return (
        f"Sealed: {holdout.public_rows} Public, {holdout.private_rows} Private, "
        f"{holdout.final_rows} Final, {holdout.ignored_rows} Ignored rows."
    )


def _sealed(round: Round) -> Holdout:
    holdout = round.active_holdout
    if holdout is None:
        raise Refused("invalid", field="solution", variant="no_solution")
    return holdout


def _check_boards(round: Round, kind: str, check: Callable[[Board], str]) -> str:
    boards = list(round.boards.all())
    if not all(getattr(board, kind) for board in boards):
        raise Refused("invalid", field=kind, variant="none_chosen", kind=kind)
    return " ".join(map(check, boards))
