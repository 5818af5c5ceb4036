"""Entries of the ledger that are no answers: revisions, merged teams, and what was written off."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger.accounts import revise_accounts
from leaderboard.ledger.entries import holdout_facts, team_head
from leaderboard.ledger.heads import heads, save_heads
from leaderboard.models import BoardState, Holdout, Ledger, LedgerNote, NoteKind, Pause, TeamState
from scoring.chain import document_hash
from scoring.mechanisms import books

REVISION_FACTS = ("version", "reason", "rescore")


def carry_on(ledger: Ledger, before: Holdout, holdout: Holdout) -> LedgerNote:
    """Go on with a revised solution: counts, budgets and shares stay, levels begin anew.

    The note of it is the first entry of the revision. Call it under `lock.lock`.
    """
    ledger.refresh_from_db()
    save_heads(ledger, {state.board_id: books.carry_on(head) for state, head in heads(ledger)})
    revise_accounts(ledger)
    TeamState.objects.bulk_create(
        TeamState(
            holdout=holdout,
            board_id=each.board_id,
            team_id=each.team_id,
            law_memory=each.law_memory,
            **asdict(books.carry_team(team_head(each))),
        )
        for each in TeamState.objects.filter(holdout=before)
    )
    facts: dict[str, Any] = {name: getattr(holdout, name) for name in REVISION_FACTS}
    return add_note(ledger, holdout, NoteKind.REVISION, **facts)


def add_note(
    ledger: Ledger,
    holdout: Holdout,
    kind: NoteKind,
    *,
    number: int | None = None,
    previous_hash: str | None = None,
    **facts: Any,
) -> LedgerNote:
    """Chain a note behind the newest entry and make it the head of the locked ledger.

    The counts of the ledger and of its boards are those after what the note reports: write them
    first. `number` and `previous_hash` are given where entries are missing in front of it. Raises
    LostRace, and Refused where the ledger is in another place.
    """
    if ledger.paused_for in (Pause.MOVED, Pause.ARCHIVED):
        raise Refused("paused", variant=ledger.paused_for)
    document = {
        "number": ledger.entries + 1 if number is None else number,
        "kind": kind.value,
        **facts,
        "asked": ledger.asked,
        "answered": ledger.answered,
        "log_alphabets": ledger.log_alphabets,
        "boards": {
            state.board.uid: {"firings": state.firings, "budget_left": state.budget_left}
            for state in BoardState.objects.filter(ledger=ledger)
            .select_related("board")
            .order_by("board__uid")
        },
        "parameters_hash": document_hash(holdout_facts(holdout)),
        "previous_hash": ledger.head_hash if previous_hash is None else previous_hash,
        "created_at": timezone.now().isoformat(timespec="seconds"),
    }
    note = save_note(holdout, document)
    save_heads(ledger, {}, entries=note.number, head_hash=note.hash)
    return note


def save_note(holdout: Holdout, document: dict[str, Any]) -> LedgerNote:
    """Write a note down, as it is published."""
    return LedgerNote.objects.create(
        holdout=holdout,
        number=document["number"],
        kind=document["kind"],
        document=document,
        previous_hash=document["previous_hash"],
        hash=document_hash(document),
        created_at=datetime.fromisoformat(document["created_at"]),
    )
