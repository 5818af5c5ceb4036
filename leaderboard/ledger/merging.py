"""What two teams that become one keep in the ledger: nothing that was used is freed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from leaderboard.ledger import levels, watermark
from leaderboard.ledger.entries import team_head
from leaderboard.ledger.notes import add_note
from leaderboard.models import Holdout, Ledger, NoteKind, Standing, Team, TeamState
from scoring.mechanisms import books


def merge_teams(team: Team, into: Team) -> list[tuple[str, watermark.Head]]:
    """Give one team's state to another, and end its rows of the boards.

    Entries are not touched; a note of each ledger that the team has asked reports the merger, so
    that everybody's replay goes on from the same states. Call it under `lock.lock`, and append what
    it returns to the watermark when that is committed.
    """
    heads = []
    asked = Ledger.objects.filter(holdouts__team_states__team=team).distinct().order_by("pk")
    for ledger in asked:
        holdout = Holdout.objects.active().get(ledger=ledger)
        for state in TeamState.objects.filter(team=team, holdout=holdout):
            key: dict[str, Any] = {"team": into, "holdout": holdout, "board": state.board}
            other, merged = TeamState.objects.filter(**key).first(), team_head(state)
            if other is not None:
                merged = books.merge_teams(team_head(other), merged)
            TeamState.objects.update_or_create(**key, defaults=asdict(merged))
            state.delete()
        note = add_note(ledger, holdout, NoteKind.MERGE, team=team.uid, into=into.uid)
        heads.append((ledger.uid, watermark.Head(note.number, note.hash)))
    merge_standings(team, into)
    return heads


def merge_standings(team: Team, into: Team) -> None:
    """Give one team's rows of the boards to another, which keeps the better of both."""
    for standing in Standing.objects.filter(team=team):
        other = Standing.objects.filter(team=into, board=standing.board_id).first()
        if other is None:
            Standing.objects.filter(pk=standing.pk).update(team=into)
            continue
        before, freed = levels.spot(other), levels.spot(standing)
        is_better = standing.loss is not None and (
            other.loss is None
            or (standing.loss, standing.reached_at) < (other.loss, other.reached_at)
        )
        if is_better:
            other.loss, other.best = standing.loss, standing.best
            other.reached_at = standing.reached_at
        other.entries += standing.entries
        other.save()
        levels.move(other.board_id, before, levels.spot(other))
        standing.delete()
        levels.move(other.board_id, freed, None)
