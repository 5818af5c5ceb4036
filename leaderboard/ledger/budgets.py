"""More answers for a board's budget, or for one team's share, as an entry of the ledger."""

from dataclasses import asdict

from leaderboard.ledger import watermark
from leaderboard.ledger.entries import ledger_head, team_head
from leaderboard.ledger.heads import save_heads
from leaderboard.ledger.notes import add_note
from leaderboard.models import Board, Holdout, Ledger, NoteKind, Team, TeamState
from scoring.mechanisms import books


def top_up(ledger: Ledger, board: Board, amount: int, team: Team | None) -> watermark.Head:
    """Raise a budget, or a team's share of it, and write the note that reports it.

    Call it under `lock.lock`, and append what it returns to the watermark when that is committed.
    Raises StateError where there is no such budget or share.
    """
    ledger.refresh_from_db()
    holdout = Holdout.objects.active().get(ledger=ledger)
    if team is None:
        head = books.top_up(ledger_head(ledger, board.state), amount)
        save_heads(ledger, {board.pk: head})
    else:
        row = TeamState.objects.get(holdout=holdout, board=board, team=team)
        after = books.top_up_team(team_head(row), amount)
        TeamState.objects.filter(pk=row.pk).update(**asdict(after))
    name = team.uid if team else ""
    note = add_note(ledger, holdout, NoteKind.TOP_UP, board=board.uid, team=name, amount=amount)
    return watermark.Head(note.number, note.hash)


def has_share(board: Board, team: Team) -> bool:
    """Return whether the team has taken a share of the board's budget."""
    states = TeamState.objects.filter(board=board, team=team, share_left__isnull=False)
    return states.filter(holdout__retired_at=None).exists()
