"""Rounds that have not begun, and the columns of those that can still be set up."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.ledger import lock
from leaderboard.ledger.heads import forget
from leaderboard.models import Board, EventKind, Holdout, Round, User
from leaderboard.organize import changes as changes_of
from leaderboard.organize.drafts import is_coming, is_frozen, locked_draft, record_draft
from leaderboard.organize.fields import OF_LEDGER, find_wrong
from leaderboard.organize.files import delete_stored
from leaderboard.organize.plan import Foreseen, foresee_guarantee
from leaderboard.organize.scoring import Scoring, check_scoring
from leaderboard.organize.settings import record_changes


@dataclass(frozen=True)
class Cost:
    """What a further column does to the guarantee of a board at the end of a usual season.

    board: a stored one, or the column itself, which has nothing `before`. Both are None where it
    can't be foreseen: without a solution, or where the parts don't fit.
    """

    board: Board
    before: Foreseen | None
    after: Foreseen | None


def foresee_columns(round: Round, scoring: Scoring) -> list[Cost]:
    """Return what a column would cost each board of a round in width, and what it would have.

    Every file then asks one question more, and all are charged to the one ledger of the rows.
    """
    column = Board(round=round, **vars(check_scoring(round, scoring)))
    return [
        *(
            Cost(board, foresee_guarantee(board), foresee_guarantee(board, columns=1))
            for board in round.boards.all()
        ),
        Cost(column, None, foresee_guarantee(column, columns=1)),
    ]


def remove_board(board: Board, *, by: User | None = None) -> None:
    """Remove a board of a round that can still be set up; the next one ranks if it was the first.

    Raises Refused where that is fixed, and for the only board of its round.
    """
    with transaction.atomic():
        draft = locked_draft(board.round, by)
        if draft.boards.count() < 2:
            raise Refused("last_board")
        before = {name: getattr(board, name) for name in Scoring.__dataclass_fields__}
        uid, told = (
            board.uid,
            changes_of.changed(before, {"removed": str(board)}),
        )
        forget(draft.boards.filter(pk=board.pk))
        record_draft(draft, EventKind.SCORING_CHANGED, by, told, board=uid)


def change_round(
    round: Round, *, by: User | None, title: str | None = None, **changes: Any
) -> None:
    """Change title, times and limits of a round that has not begun. Raises Refused, naming fields.

    Those of the current one are settings of the competition.
    """
    with transaction.atomic():
        locked = _lock_coming(round, by)
        held = {name: getattr(locked, name) for name in changes}
        changed = {name: value for name, value in changes.items() if held[name] != value}
        of_ledger = locked.continues_id is not None or is_frozen(locked)
        fixed = changed.keys() & set(OF_LEDGER) if of_ledger else set()
        wrong: dict[str, Any] = {name: {"variant": "of_the_ledger"} for name in fixed}
        before = Round.objects.filter(competition=locked.competition, number=locked.number - 1)
        end, opens_at = before.get().closes_at, changed.get("opens_at")
        if opens_at is not None and (end is None or opens_at < end):
            wrong["opens_at"] = {"variant": "opens_too_early"}
        free = {name: value for name, value in changed.items() if name not in wrong}
        refuse_fields(find_wrong(locked, free) | wrong)
        if title is not None:
            locked.title = title
        locked.save(update_fields=[*changed, "title"])
        record_changes(locked, by, held, changed)
    round.refresh_from_db()


def remove_round(round: Round, *, by: User | None) -> None:
    """Remove the last round, with its files and its solution, before it begins.

    Raises Refused once it has begun, or an answer has left rows that it brought.
    """
    with transaction.atomic():
        locked = _lock_coming(round, by)
        competition = locked.competition
        if competition.rounds.filter(number__gt=locked.number).exists():
            raise Refused("not_the_last_round", variant="removal")
        ledger = locked.ledger if locked.continues_id is None else None
        if ledger is not None and is_frozen(locked):
            raise Refused("frozen")
        for entry in locked.files.all():
            delete_stored(entry.file)
        for holdout in Holdout.objects.filter(ledger=ledger) if ledger else ():
            delete_stored(holdout.sealed_solution)
            holdout.delete()
        boards = locked.boards.all()
        Round.objects.filter(pk=locked.pk).update(ledger=None)
        forget(boards, ledger)
        locked.delete()
        record_draft(locked, EventKind.ROUND_REMOVED, by, {})


def _lock_coming(round: Round, by: User | None) -> Round:
    competition = lock.lock(round.competition)
    check_right(by, competition, Right.EDIT)
    locked = competition.rounds.select_related("competition", "ledger").get(pk=round.pk)
    has_begun = locked.ledger is not None and locked.opens_at <= timezone.now()
    if not is_coming(locked) or has_begun:
        raise Refused("round_begun")
    return locked
