"""The heads of a ledger's boards: how they begin, and what a revision leaves of them."""

from __future__ import annotations

from dataclasses import asdict

from django.db.models import F

from leaderboard.ledger.entries import ledger_head, team_head
from leaderboard.ledger.notes import add_note
from leaderboard.models import (
    BoardState,
    Holdout,
    Ledger,
    LedgerNote,
    NoteKind,
    Round,
    TeamState,
)
from scoring import mechanisms
from scoring.mechanisms import books
from scoring.mechanisms.base import HoldoutState as LedgerHead


def start_ledger(round: Round) -> None:
    """Give every board of an opened round its state."""
    for board in round.boards.all():
        mechanism = mechanisms.get(board.mechanism)
        head = mechanism.initial_holdout(mechanism.parse(board.mechanism_parameters))
        fresh = {"ledger": round.ledger, "budget_left": head.budget_left}
        BoardState.objects.get_or_create(board=board, defaults=fresh)
        # An opening that was taken back may have left a state with the budget of other parameters.
        BoardState.objects.filter(board=board, ledger__entries=0).update(**fresh)


def carry_on(ledger: Ledger, before: Holdout, holdout: Holdout) -> LedgerNote:
    """Go on with a revised solution: counts, budgets and shares stay, levels begin anew.

    The note of it is the first entry of the revision. Call it under `lock.lock`.
    """
    ledger.refresh_from_db()
    save_heads(ledger, {state.board_id: books.carry_on(head) for state, head in heads(ledger)})
    TeamState.objects.bulk_create(
        TeamState(
            holdout=holdout,
            board_id=each.board_id,
            team_id=each.team_id,
            **asdict(books.carry_team(team_head(each))),
        )
        for each in TeamState.objects.filter(holdout=before)
    )
    return add_note(
        ledger,
        holdout,
        NoteKind.REVISION,
        version=holdout.version,
        reason=holdout.reason,
        rescore=holdout.rescore,
    )


def heads(ledger: Ledger) -> list[tuple[BoardState, LedgerHead]]:
    """Return the state of each board with its head, as its mechanism knows it."""
    states = BoardState.objects.filter(ledger=ledger).select_related("board").order_by("pk")
    return [(state, ledger_head(ledger, state)) for state in states]


def save_heads(ledger: Ledger, after: dict[int, LedgerHead]) -> None:
    """Write the heads of all boards, which agree in the counts of the ledger as a whole."""
    counts: dict[str, float] = {}
    for board_id, head in after.items():
        counts = asdict(head)
        of_board = {name: counts.pop(name) for name in ("firings", "budget_left")}
        BoardState.objects.filter(ledger=ledger, board=board_id).update(**of_board)
    if counts:
        Ledger.objects.filter(pk=ledger.pk).update(version=F("version") + 1, **counts)
    ledger.refresh_from_db()
