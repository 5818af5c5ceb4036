"""Entries of the ledger that are no answers: revisions, merged teams, and what was written off."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.utils import timezone

from leaderboard.ledger.answers import LostRace
from leaderboard.ledger.entries import holdout_facts
from leaderboard.models import BoardState, Holdout, Ledger, LedgerNote, NoteKind
from scoring.chain import document_hash


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
    LostRace.
    """
    now = timezone.now()
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
        "created_at": now.isoformat(timespec="seconds"),
    }
    note = LedgerNote.objects.create(
        holdout=holdout,
        number=document["number"],
        kind=kind,
        document=document,
        previous_hash=document["previous_hash"],
        hash=document_hash(document),
        created_at=now,
    )
    head = {"entries": note.number, "head_hash": note.hash, "watermarked": True}
    written = Ledger.objects.filter(pk=ledger.pk, version=ledger.version).update(
        version=F("version") + 1, **head
    )
    if written != 1:
        raise LostRace
    ledger.refresh_from_db()
    return note
