"""The heads of a ledger's boards: how they begin, and the one way to write them."""

import json
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from leaderboard.ledger.entries import LostRace, ledger_head
from leaderboard.models import Board, BoardState, Holdout, Ledger, Round
from leaderboard.platform.statements import update_rows
from scoring import ledger as rules
from scoring import mechanisms, metrics
from scoring.mechanisms.base import HoldoutState as LedgerHead


def start_ledger(round: Round) -> None:
    """Give every board of an opened round its state, and a ledger that nobody asked its terms."""
    if round.ledger is not None and round.continues is None and not round.ledger.entries:
        _set_terms(round, round.ledger)
    # An opening that was taken back may have left a state with the budget of other parameters.
    for board in round.boards.exclude(state__ledger__entries__gt=0):
        mechanism = mechanisms.get(board.mechanism)
        head = mechanism.initial_holdout(mechanism.parse(board.mechanism_parameters))
        fresh = {"ledger": round.ledger, "budget_left": head.budget_left}
        BoardState.objects.update_or_create(board=board, defaults=fresh)
        board.same_as = _find_same(board)
        board.save(update_fields=["same_as"])


def forget(boards: QuerySet[Board], ledger: Ledger | None = None) -> None:
    """Delete boards that nobody has asked, and the ledger that was theirs alone, if one is given.

    Call it under `lock.lock`, once nothing else refers to that ledger.
    """
    BoardState.objects.filter(board__in=boards).delete()
    boards.delete()
    if ledger is not None:
        ledger.delete()


def rules_of(board: Board, holdout: Holdout) -> rules.Board:
    """Return the board as the ledger's rules know it."""
    mechanism = mechanisms.get(board.mechanism)
    params = _parsed(board.mechanism, json.dumps(board.mechanism_parameters))
    claims = mechanism.reference(params) == "claim"
    public = 0 if claims else holdout.effective_public_rows
    return rules.Board(board.uid, mechanism, params, holdout.effective_private_rows, public)


@lru_cache(maxsize=256)
def _parsed(mechanism: str, parameters: str) -> Any:
    return mechanisms.get(mechanism).parse(json.loads(parameters))


def _set_terms(round: Round, ledger: Ledger) -> None:
    """Begin the ledger by today's laws and the round's limits, for good."""
    holdout = Holdout.objects.active().get(ledger=ledger)
    boards = [rules_of(board, holdout) for board in round.boards.all()]
    names = ("question_limit", "team_limit", "nats_limit", "gate_limit")
    limits = {name: getattr(round, name) for name in names}
    terms = rules.begin([(each.mechanism, each.laws) for each in boards], **limits)
    ledger.law, ledger.law_weight = terms.version, str(terms.weight)
    ledger.question_limit, ledger.team_limit = terms.question_limit, terms.team_limit
    ledger.nats_limit, ledger.gate_limit = terms.nats_limit, terms.gate_limit
    ledger.by_team = round.is_hidden
    ledger.save(update_fields=["law", "law_weight", *limits, "by_team"])


def _find_same(board: Board) -> Board | None:
    """Return the board of an earlier round on these rows that asks the same, the first of them."""
    ledger, number = board.round.ledger, board.round.number
    if ledger is None or not ledger.law:
        return None
    earlier = Board.objects.filter(round__ledger=ledger, round__number__lt=number, same_as=None)
    asked = _what_it_asks(board)
    found = (each for each in earlier.order_by("round__number") if _what_it_asks(each) == asked)
    return next(found, None)


def _what_it_asks(board: Board) -> tuple[object, ...]:
    """Return metric and mechanism as they are understood, however they were written down."""
    metric, mechanism = metrics.get(board.metric), mechanisms.get(board.mechanism)
    return (
        *(metric.name, metric.parse(board.metric_parameters)),
        *(mechanism.name, mechanism.parse(board.mechanism_parameters)),
    )


def heads(ledger: Ledger) -> list[tuple[BoardState, LedgerHead]]:
    """Return the state of each board with its head, as its mechanism knows it."""
    states = BoardState.objects.filter(ledger=ledger).select_related("board").order_by("pk")
    return [(state, ledger_head(ledger, state)) for state in states]


def save_heads(
    ledger: Ledger,
    after: dict[int, LedgerHead],
    *,
    before: dict[int, LedgerHead] | None = None,
    **newest: Any,
) -> None:
    """Write the heads of boards, which agree in the counts of the ledger as a whole.

    What `before` knows of a board and is still so is not written again.
    `newest` names the ledger's newest entry (`entries`, `head_hash`) where that is another now.
    Everything is written where the version is still the one that was read. Raises LostRace.
    """
    counts: dict[str, Any] = {}
    for board_id, head in after.items():
        counts = {name: getattr(head, name) for name in ("asked", "answered", "log_alphabets")}
        of_board = {name: getattr(head, name) for name in ("firings", "budget_left")}
        known = (before or {}).get(board_id)
        if known is None or any(getattr(known, name) != of_board[name] for name in of_board):
            update_rows(BoardState, {"ledger": ledger.pk, "board": board_id}, **of_board)
    if newest:
        counts |= newest | {"watermarked": True}
    counts["version"] = ledger.version + 1
    if update_rows(Ledger, {"pk": ledger.pk, "version": ledger.version}, **counts) != 1:
        raise LostRace
    for name, value in counts.items():
        setattr(ledger, name, value)
