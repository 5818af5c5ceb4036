"""The public ledger of releases."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db.models import Count

from leaderboard.models import (
    Competition,
    Holdout,
    HoldoutState,
    LedgerNote,
    Release,
)
from leaderboard.pipeline.release import ledger_document, parameters_hash, scoring_facts
from leaderboard.queries.boards import PAGE_ROWS
from leaderboard.queries.competitions import holdout_in_force
from scoring.verification import Header, entry_line

_FETCHED_ROWS = 2000
_LINES_AT_ONCE = 100


@dataclass(frozen=True)
class LedgerPage:
    """A page of the public ledger, newest first, of all versions of the solution.

    `notes` are the entries that are no answers: corrections, and what was written off.
    """

    entries: tuple[dict[str, Any], ...]
    notes: tuple[dict[str, Any], ...]
    page: int
    pages: int
    total: int
    head_hash: str
    solution_commitment: str
    secret_commitment: str


def ledger(competition: Competition, *, page: int = 1, page_rows: int = PAGE_ROWS) -> LedgerPage:
    """A page of the public ledger."""
    holdout = holdout_in_force(competition)
    versions = competition.holdouts.annotate(entries=Count("ledger")).order_by("-version")
    counted = [(version, version.entries) for version in versions]
    total = sum(entries for _, entries in counted)
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    chosen = _newest(counted, (page - 1) * page_rows, page_rows)
    notes = LedgerNote.objects.filter(holdout__competition=competition).order_by("-number")
    state = HoldoutState.objects.filter(holdout=holdout).first()
    return LedgerPage(
        entries=tuple(_ledger_entry(entry) for entry in chosen),
        notes=tuple(_note(note) for note in notes),
        page=page,
        pages=pages,
        total=total,
        head_hash=state.head_hash if state else "",
        solution_commitment=holdout.solution_commitment if holdout else "",
        secret_commitment=holdout.secret_commitment if holdout else "",
    )


def _newest(versions: Sequence[tuple[Holdout, int]], skip: int, wanted: int) -> list[Release]:
    """A part of the ledger, newest first: each version's own index is read from its end."""
    found = list[Release]()
    for version, entries in versions:
        rows = Release.objects.filter(holdout=version).select_related("submission", "holdout")
        found += rows.order_by("-number")[skip : skip + wanted - len(found)]
        skip = max(0, skip - entries)
        if len(found) >= wanted:
            break
    return found


def _ledger_entry(entry: Release) -> dict[str, Any]:
    return ledger_document(entry) | {"version": entry.holdout.version, "hash": entry.hash}


def _note(note: LedgerNote) -> dict[str, Any]:
    return {**note.document, "hash": note.hash}


def ledger_lines(competition: Competition) -> Iterator[bytes]:
    """The whole ledger as JSON Lines, in parts of some lines each: docs/verification.md.

    Every version of the holdout that answered has its segment, the one in force also before it
    answers. Read up to the head that stood when reading began, whatever is appended meanwhile.
    """
    states = HoldoutState.objects.filter(holdout__competition=competition)
    ordered = states.select_related("holdout").order_by("holdout__version")
    lines = lines_of(competition, list(ordered))
    while part := b"".join(islice(lines, _LINES_AT_ONCE)):
        yield part


def lines_of(competition: Competition, states: list[HoldoutState]) -> Iterator[bytes]:
    """The same line by line, up to heads that have been read: those of all versions, in order."""
    number, head = 0, ""
    for state in states:
        holdout = state.holdout
        if holdout.retired_at is not None and state.releases == number:
            continue
        header = Header(
            competition=competition.slug,
            version=holdout.version,
            scoring=scoring_facts(competition, holdout),
            parameters_hash=parameters_hash(competition, holdout),
            first=number + 1,
            previous_hash=head,
            entries=max(0, state.releases - number),
            head_hash=state.head_hash or head,
        )
        yield header.line()
        for _, document, digest in merge(_entries(state), _notes(state), key=itemgetter(0)):
            yield entry_line(document, digest)
        number, head = max(number, state.releases), header.head_hash


_Line = tuple[int, dict[str, Any], str]


def _entries(state: HoldoutState) -> Iterator[_Line]:
    """The releases up to the head that was read, one query for all of them."""
    rows = Release.objects.filter(holdout=state.holdout_id, number__lte=state.releases)
    ordered = rows.select_related("submission").order_by("number")
    for entry in ordered.iterator(chunk_size=_FETCHED_ROWS):
        yield entry.number, ledger_document(entry), entry.hash


def _notes(state: HoldoutState) -> Iterator[_Line]:
    rows = LedgerNote.objects.filter(holdout=state.holdout_id, number__lte=state.releases)
    for note in rows.order_by("number"):
        yield note.number, note.document, note.hash
