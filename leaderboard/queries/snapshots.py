"""What the database says beside a ledger, at one moment, to be compared with it."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from leaderboard.ledger.entries import ledger_head, team_head
from leaderboard.ledger.sanctions import leave_out_sanctioned
from leaderboard.models import BoardState, Ledger, Standing, TeamState
from scoring.laws.books import Account
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.mechanisms.base import TeamState as TeamHead

BoardAndTeam = tuple[str, str]


@dataclass(frozen=True)
class Stand:
    """A team's row of a board: its loss, the entries it rests on, and how many it has."""

    loss: float | None
    best: int | None
    last: int
    entries: int


@dataclass(frozen=True)
class Snapshot:
    """What the database keeps of a ledger; boards and teams are named by their permanent ids.

    `heads` is the head as each board's mechanism knows it, `teams` has the teams' states for each
    holdout's key, with what laws remember of them in `memories`, `board` the rows of the boards.
    `accounts` are by team, or one under "" for all. `left_out` has what rows of the board rest on
    where a submission of the team is or was under a sanction: loss and entry.
    """

    head: Ledger
    heads: dict[str, LedgerHead]
    teams: dict[int, dict[BoardAndTeam, TeamHead]]
    memories: dict[int, dict[BoardAndTeam, dict[str, Any]]]
    accounts: dict[str, Account]
    board: dict[BoardAndTeam, Stand]
    left_out: dict[BoardAndTeam, tuple[float | None, int | None]]


def snapshot(ledger: Ledger) -> Snapshot:
    """Read it all while no answer can be written."""
    with transaction.atomic():
        rows = Ledger.objects.select_for_update(of=("self",), no_key=True).select_related(
            "competition"
        )
        head = rows.get(pk=ledger.pk)
        states = BoardState.objects.filter(ledger=head).select_related("board")
        heads = {state.board.uid: ledger_head(head, state) for state in states}
        teams: dict[int, dict[BoardAndTeam, TeamHead]] = {
            holdout.pk: {} for holdout in head.holdouts.all()
        }
        memories: dict[int, dict[BoardAndTeam, dict[str, Any]]] = {key: {} for key in teams}
        known = TeamState.objects.filter(holdout__in=teams).select_related("board", "team")
        for each in known:
            teams[each.holdout_id][each.board.uid, each.team.uid] = team_head(each)
            memories[each.holdout_id][each.board.uid, each.team.uid] = each.law_memory
        standings = Standing.objects.filter(board__round__ledger=head)
        board = {
            (row.board.uid, row.team.uid): Stand(
                row.loss, row.best.number if row.best else None, row.last.number, row.entries
            )
            for row in standings.select_related("board", "team", "best", "last")
        }
        touched = standings.filter(team__submissions__sanctions__isnull=False).distinct()
        left_out = {
            (row.board.uid, row.team.uid): (row.loss, row.best.number if row.best else None)
            for row in touched.select_related("board__round", "team", "last__submission")
            if leave_out_sanctioned(row)
        }
        accounts = {"": Account.from_json(head.account)} if head.account else {}
        for row in head.team_accounts.select_related("team"):
            accounts[row.team.uid] = Account.from_json(row.account)
    return Snapshot(head, heads, teams, memories, accounts, board, left_out)
