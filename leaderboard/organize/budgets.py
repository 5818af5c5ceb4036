"""More corrections (or passes) for a board or a team, while a competition runs."""

from typing import Final

from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.ledger.budgets import has_share, top_up
from leaderboard.models import Board, EventKind, Team, User
from leaderboard.notify import events

MOST: Final = 1_000_000


def add_budget(board: Board, amount: int, *, by: User, team: Team | None = None) -> None:
    """Add answers to what all teams of a board may have, or to the share of one team.

    It is an entry of the public ledger. Raises Refused where the board has no budget, the team no
    share, the ledger doesn't answer, or the finals have started.
    """
    with transaction.atomic(durable=True):
        competition = lock.lock(board.round.competition)
        check_right(by, competition, Right.EDIT)
        locked = Board.objects.select_related("round__ledger").get(pk=board.pk)
        ledger = locked.round.ledger
        if not 1 <= amount <= MOST:
            raise Refused("invalid", field="amount", variant="amount_out_of_range", limit=MOST)
        if ledger is None or not hasattr(locked, "state") or locked.state.budget_left is None:
            raise Refused("invalid", field="board", variant="no_budget")
        if ledger.rounds.filter(finals_started_at__isnull=False).exists():
            raise Refused("finals_started")
        if ledger.paused_at is not None:
            raise Refused("paused")
        if team is not None and not has_share(locked, team):
            raise Refused("invalid", field="team", variant="no_share")
        head = top_up(ledger, locked, amount, team)
        subjects = {"board": locked.uid, **({"team": team.uid} if team else {})}
        events.record(
            competition, EventKind.BUDGET_ADDED, actor=by, subjects=subjects, amount=amount
        )
    watermark.append_where_writable(ledger.uid, head)
