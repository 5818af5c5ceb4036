"""The heads of a ledger's boards: how they begin, and the one way to write them."""

from dataclasses import asdict
from typing import Any

from django.db.models import F

from leaderboard.ledger.entries import LostRace, ledger_head
from leaderboard.models import BoardState, Ledger, Round
from scoring import mechanisms
from scoring.mechanisms.base import HoldoutState as LedgerHead


def start_ledger(round: Round) -> None:
    """Give every board of an opened round its state."""
    # An opening that was taken back may have left a state with the budget of other parameters.
    for board in round.boards.exclude(state__ledger__entries__gt=0):
        mechanism = mechanisms.get(board.mechanism)
        head = mechanism.initial_holdout(mechanism.parse(board.mechanism_parameters))
        fresh = {"ledger": round.ledger, "budget_left": head.budget_left}
        BoardState.objects.update_or_create(board=board, defaults=fresh)


def heads(ledger: Ledger) -> list[tuple[BoardState, LedgerHead]]:
    """Return the state of each board with its head, as its mechanism knows it."""
    states = BoardState.objects.filter(ledger=ledger).select_related("board").order_by("pk")
    return [(state, ledger_head(ledger, state)) for state in states]


def save_heads(ledger: Ledger, after: dict[int, LedgerHead], **newest: Any) -> None:
    """Write the heads of boards, which agree in the counts of the ledger as a whole.

    `newest` names the ledger's newest entry (`entries`, `head_hash`) where that is another now.
    Everything is written where the version is still the one that was read. Raises LostRace.
    """
    counts: dict[str, Any] = {}
    for board_id, head in after.items():
        counts = asdict(head)
        of_board = {name: counts.pop(name) for name in ("firings", "budget_left")}
        BoardState.objects.filter(ledger=ledger, board=board_id).update(**of_board)
    if newest:
        counts |= newest | {"watermarked": True}
    read = Ledger.objects.filter(pk=ledger.pk, version=ledger.version)
    if read.update(version=F("version") + 1, **counts) != 1:
        raise LostRace
    ledger.version += 1
    for name, value in counts.items():
        setattr(ledger, name, value)
