"""What a ledger has answered and what is left of its budget: for its organizers."""

from dataclasses import dataclass
from typing import Final

from django.db.models import Count, F, Q

from leaderboard.models import Board, Holdout, TeamState
from leaderboard.queries.previews import Forecast, board_head, forecast

_SHARES_SHOWN: Final = 100


@dataclass(frozen=True)
class Budget:
    """The head of the ledger as a board uses it, and the shares with the least left.

    A share is the state of a `team`, with its `releases` and what is `left`.
    """

    holdout: Holdout
    asked: int
    answered: int
    budget_left: int | None
    releases: int
    head_hash: str
    next: Forecast | None
    teams: int
    shares: tuple[TeamState, ...]


def budget(board: Board) -> Budget | None:
    """Return what is left for a board to answer; None until the competition has been opened."""
    ledger, holdout, head = board.round.ledger, board.round.active_holdout, board_head(board)
    if ledger is None or holdout is None or head is None:
        return None
    states = board.team_states.filter(holdout=holdout, share_left__isnull=False)
    counted = states.select_related("team").annotate(
        releases=Count("team__releases", filter=Q(team__releases__holdout=holdout)),
        left=F("share_left"),
    )
    return Budget(
        holdout=holdout,
        asked=head.asked,
        answered=head.answered,
        budget_left=head.budget_left,
        releases=ledger.entries,
        head_hash=ledger.head_hash,
        next=forecast(board, holdout, head),
        teams=states.count(),
        shares=tuple(counted.order_by("share_left", "team__name")[:_SHARES_SHOWN]),
    )
