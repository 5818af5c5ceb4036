"""Gates: an organizer fixes yes-or-no questions that programs then ask by name."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.ledger import lock
from leaderboard.ledger.gates import Ground, ground_of, read
from leaderboard.models import (
    Board,
    Competition,
    EventKind,
    Gate,
    Round,
    Status,
    Submission,
    User,
)
from leaderboard.notify import events
from scoring import gates, metrics
from scoring.errors import ParameterError

NAME_LENGTH: Final = 60
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LENGTH - 1}}}", re.ASCII)


@dataclass(frozen=True)
class NewGate:
    """What an organizer fixes, in units of the score.

    mark: of a "mark", the score that passes. tolerance: of "not_worse", how much of the score may
    be lost. differing: of "not_worse", on which share of the rows files may differ, 1 if left out.
    margin: how far its answers may err at most; without one, whatever the ledger still promises.
    in_use: the file that the other two kinds compare with.
    """

    name: str
    kind: str
    mark: float | None = None
    tolerance: float | None = None
    differing: float | None = None
    margin: float | None = None
    in_use: Submission | None = None


# What a gate of each kind has to be given; the rest of these it may not be given.
_NEEDS: Final = {"mark": {"mark"}, "not_worse": {"tolerance", "in_use"}, "better": {"in_use"}}
_MAY: Final = {
    "mark": {"margin"},
    "not_worse": {"differing", "margin"},
    "better": set[str](),
}


def make_gate(board: Board, new: NewGate, *, by: User | None) -> Gate:
    """Make a gate of an open round, by one of its boards. It is never changed: retire it.

    Raises Refused where none were declared, the finals have started, or fields are wrong.
    """
    with transaction.atomic(durable=True):
        competition = lock.lock(board.round.competition)
        check_right(by, competition, Right.EDIT)
        locked = Board.objects.select_related("round__ledger", "round__competition").get(
            pk=board.pk
        )
        ground = _ground(locked)
        _check_fields(new, locked.round)
        question = _question(new, locked)
        _check_margin(new, locked, question, ground)
        return _save(competition, locked, question, new, by=by)


def promote_gate(gate: Gate, submission: Submission, *, by: User | None) -> Gate:
    """Let a file that passed take the place of the one in use: a new gate of the same name.

    Raises Refused where it has not passed this gate on the solution as it is.
    """
    with transaction.atomic(durable=True):
        competition = lock.lock(gate.round.competition)
        check_right(by, competition, Right.EDIT)
        old = _open_gate(gate)
        ground = _ground(old.board)
        if not old.question.compares:
            raise Refused("invalid", field="submission", variant="never_compares")
        passed = Submission.objects.select_related("gate_answer").get(pk=submission.pk)
        answer = passed.gate_answer
        active = old.board.round.active_holdout
        if passed.gate_id != old.pk or answer is None or answer.holdout != active:
            raise Refused("invalid", field="submission", variant="not_passed")
        if not answer.document["yes"] or not passed.file:
            raise Refused("invalid", field="submission", variant="not_passed")
        _retire(competition, old, by=by)
        new = NewGate(old.name, old.kind, margin=old.margin, in_use=passed)
        _check_margin(new, old.board, old.question, ground)
        return _save(competition, old.board, old.question, new, by=by)


def find_candidates(round: Round) -> QuerySet[Submission]:
    """Return the files that a gate of a round may compare with: read, answered, and there."""
    answered = Submission.objects.filter(round=round, status=Status.RELEASED, is_practice=False)
    return answered.exclude(file="")


def retire_gate(gate: Gate, *, by: User | None) -> None:
    """Close a gate for good. Done again, it changes nothing."""
    with transaction.atomic(durable=True):
        competition = lock.lock(gate.round.competition)
        check_right(by, competition, Right.EDIT)
        locked = Gate.objects.select_related("round").get(pk=gate.pk)
        if locked.retired_at is None:
            _retire(competition, locked, by=by)
    gate.refresh_from_db(fields=["retired_at"])


def _open_gate(gate: Gate) -> Gate:
    rows = Gate.objects.select_related(
        "board__round__competition", "board__round__ledger", "in_use"
    )
    found = rows.get(pk=gate.pk)
    if found.retired_at is not None:
        raise Refused("gate_closed", variant="retired")
    return found


def _ground(board: Board) -> Ground:
    """Return what a board's gates rest on. Raises Refused where nothing answers them."""
    round = board.round
    holdout = round.active_holdout
    if round.competition.opened_by_organizer_at is None or round.ledger is None or holdout is None:
        raise Refused("gate_closed", variant="none")
    if round.ledger.rounds.filter(finals_started_at__isnull=False).exists():
        raise Refused("finals_started")
    if round.ledger.paused_at is not None:
        raise Refused("paused")
    return ground_of(board, round.ledger, holdout)


def _check_fields(new: NewGate, round: Round) -> None:
    """Raise Refused naming every field that is missing, too much, or wrong in itself."""
    if new.kind not in _NEEDS:
        choices = ", ".join(_NEEDS)
        raise Refused("invalid", field="kind", variant="role_unknown", choices=choices)
    wrong = dict[str, dict[str, Any]]()
    if not _NAME.fullmatch(new.name):
        wrong["name"] = {"variant": "gate_name", "limit": NAME_LENGTH}
    elif round.gates.open().filter(name=new.name).exists():
        wrong["name"] = {"variant": "gate_exists"}
    for name in ("mark", "tolerance", "differing", "margin", "in_use"):
        is_given = getattr(new, name) is not None
        if name in _NEEDS[new.kind] and not is_given:
            wrong[name] = {"variant": "gate_asks_for"}
        elif is_given and name not in _NEEDS[new.kind] | _MAY[new.kind]:
            wrong[name] = {"variant": "gate_not_asked"}
    if new.in_use is not None and not find_candidates(round).filter(pk=new.in_use.pk).exists():
        wrong["in_use"] = {"variant": "not_in_use"}
    refuse_fields(wrong)


def _question(new: NewGate, board: Board) -> gates.Gate:
    """Return what is asked, in losses. Raises Refused."""
    metric = metrics.get(board.metric)
    params = metric.parse(board.metric_parameters)
    try:
        bound = Fraction(0)
        if new.mark is not None:
            bound = gates.loss_of_mark(metric, params, new.mark)
        if new.tolerance is not None:
            bound = gates.loss_of_tolerance(metric, params, new.tolerance)
        differing = Fraction(1) if new.differing is None else Fraction(str(new.differing))
        question = gates.Gate(new.kind, bound, differing)  # type: ignore[arg-type]  # it checks
        question.check(metric)
    except ParameterError as error:
        field = {"bound": "mark" if new.mark is not None else "tolerance"}.get(
            error.field, error.field
        )
        raise Refused("invalid", field=field, message=error.message) from None
    except (ValueError, OverflowError):  # a mark or a share that is no finite number
        raise Refused("invalid", field="differing", variant="not_a_share") from None
    return question


def _check_margin(new: NewGate, board: Board, question: gates.Gate, ground: Ground) -> None:
    if new.margin is None:
        return
    now = read(question, board, ground).margin
    if not now <= new.margin:
        raise Refused("invalid", field="margin", variant="margin_too_small", now=now)


def _save(
    competition: Competition, board: Board, question: gates.Gate, new: NewGate, *, by: User | None
) -> Gate:
    made = Gate.objects.create(
        round=board.round,
        board=board,
        name=new.name,
        margin=new.margin,
        in_use=new.in_use,
        created_at=timezone.now(),
        **question.to_json(),
    )
    _record(competition, EventKind.GATE_MADE, made, by)
    return made


def _retire(competition: Competition, gate: Gate, *, by: User | None) -> None:
    gate.retired_at = timezone.now()
    gate.save(update_fields=["retired_at"])
    _record(competition, EventKind.GATE_RETIRED, gate, by)


def _record(competition: Competition, kind: EventKind, gate: Gate, by: User | None) -> None:
    subjects = {"round": gate.round.number, "gate": gate.uid}
    events.record(competition, kind, actor=by, subjects=subjects, name=gate.name)
