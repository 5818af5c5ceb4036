"""Making a competition, a further round of one, and a further board."""

from typing import Any

from django.db import transaction
from django.db.models import Max

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.ledger import lock
from leaderboard.models import Audience, Board, Competition, EventKind, Organizer, Role, Round, User
from leaderboard.notify import events
from leaderboard.organize.beginning import begin_ledger
from leaderboard.organize.changes import changed
from leaderboard.organize.drafts import locked_draft, record_draft, withdraw
from leaderboard.organize.fields import OF_LEDGER, OF_ROUND, find_wrong
from leaderboard.organize.scoring import Scoring, check_scoring
from scoring import metrics
from scoring.proposals import choose_mechanism

_BOARD_FIELDS = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
_ROUND_FIELDS = (*OF_ROUND, "schema")


def create_competition(*, slug: str, organizer: User, **fields: Any) -> Competition:
    """Make a draft of one round and one board, from fields of the three nouns told by name."""
    of_board = {name: fields.pop(name) for name in _BOARD_FIELDS if name in fields}
    of_board = _with_mechanism(of_board)
    of_round = {name: fields.pop(name) for name in _ROUND_FIELDS if name in fields}
    with transaction.atomic():
        competition = Competition.objects.create(slug=slug, **fields)
        Organizer.objects.create(competition=competition, user=organizer, role=Role.OWNER)
        round = Round.objects.create(competition=competition, **of_round)
        Board.objects.create(round=round, **of_board)
        events.record(
            competition,
            EventKind.ORGANIZER_ADDED,
            actor=organizer,
            audience=Audience.ORGANIZERS,
            subjects={"person": organizer.uid},
            role=Role.OWNER,
        )
    return competition


def add_round(
    competition: Competition, *, by: User, continues: bool = False, title: str = "", **fields: Any
) -> Round:
    """Add a round behind the last one, with a board like the last one's.

    continues: it goes on with the rows of the last round, and then with its ledger and what that
        began with, files and schema; else it brings a solution of its own, and with it a ledger,
        and begins once that is sealed. Raises Refused where a field, metric or mechanism is wrong,
        and where the rows' end has begun: reopening afterwards needs new rows.
    """
    of_board = {name: fields.pop(name) for name in _BOARD_FIELDS if name in fields}
    with transaction.atomic():
        locked = lock.lock(competition)
        check_right(by, locked, Right.EDIT)
        last = locked.rounds.order_by("number").last()
        if last is None or last.closes_at is None or fields["opens_at"] < last.closes_at:
            raise Refused("invalid", field="opens_at", variant="opens_too_early")
        if continues and last.finals_started_at is not None:
            raise Refused("finals_started", variant="rows")
        if continues and last.ledger is None:
            raise Refused("invalid", field="solution", variant="no_solution")
        if not continues and last.hides_others:
            raise Refused("invalid", field="opens_at", variant="last_is_hidden")
        names = ("daily_limit", "total_limit", "schema", *(OF_LEDGER if continues else ()))
        kept = {name: getattr(last, name) for name in names}
        if continues:
            others = {name for name in OF_LEDGER if fields.get(name, kept[name]) != kept[name]}
            refuse_fields({name: {"variant": "of_the_ledger"} for name in others})
        round = Round(
            competition=locked,
            number=last.number + 1,
            title=title,
            continues=last if continues else None,
            ledger=last.ledger if continues else None,
            **kept,
        )
        refuse_fields(find_wrong(round, fields))
        like = {name: getattr(last.board, name) for name in _BOARD_FIELDS}
        scoring = check_scoring(round, Scoring(**like | of_board))
        round.save()
        Board.objects.create(round=round, **vars(scoring))
        if round.ledger is not None and locked.opened_by_organizer_at is not None:
            begin_ledger(round)
        events.record(locked, EventKind.ROUND_ADDED, actor=by, subjects={"round": round.number})
    competition.refresh_from_db()
    return round


def add_board(round: Round, *, by: User, title: str = "", **fields: Any) -> Board:
    """Add a board to a round that can still be set up: a column with answers of its own.

    They are charged to the one ledger of the rows; `rounds.foresee_columns` says what that costs.

    A solution that is sealed is withdrawn: its labels were not checked against this metric. Raises
    Refused where `drafts.locked_draft` does, and where metric or mechanism is wrong.
    """
    with transaction.atomic():
        draft = locked_draft(round, by)
        scoring = check_scoring(draft, Scoring(**_with_mechanism(fields)))
        withdraw(draft, by)
        last: int | None = round.boards.aggregate(last=Max("position"))["last"]
        position = 0 if last is None else last + 1
        board = Board.objects.create(round=round, position=position, title=title, **vars(scoring))
        record_draft(draft, EventKind.BOARD_ADDED, by, changed({}, vars(scoring)), board=board.uid)
    return board


def _with_mechanism(of_board: dict[str, Any]) -> dict[str, Any]:
    """Return a board's fields with the default mechanism where a metric has none."""
    metric = metrics.METRICS.get(of_board.get("metric", ""))
    if metric is None or "mechanism" in of_board:
        return of_board
    default = {"mechanism": choose_mechanism(metric).name, "mechanism_parameters": {}}
    return {"metric_parameters": {}, **default, **of_board}
