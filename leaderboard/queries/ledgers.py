"""The public ledger of releases."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from leaderboard.models import (
    Competition,
    HoldoutState,
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
    """A page of the public ledger, newest first."""

    entries: tuple[dict[str, Any], ...]
    page: int
    pages: int
    total: int
    head_hash: str
    solution_commitment: str
    secret_commitment: str


def ledger(competition: Competition, *, page: int = 1, page_rows: int = PAGE_ROWS) -> LedgerPage:
    """A page of the public ledger of the holdout in force."""
    holdout = holdout_in_force(competition)
    rows = Release.objects.filter(holdout=holdout).select_related("submission")
    total = rows.count()
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    chosen = rows.order_by("-number")[(page - 1) * page_rows : page * page_rows]
    state = HoldoutState.objects.filter(holdout=holdout).first()
    return LedgerPage(
        entries=tuple(_ledger_entry(entry) for entry in chosen),
        page=page,
        pages=pages,
        total=total,
        head_hash=state.head_hash if state else "",
        solution_commitment=holdout.solution_commitment if holdout else "",
        secret_commitment=holdout.secret_commitment if holdout else "",
    )


def _ledger_entry(entry: Release) -> dict[str, Any]:
    return ledger_document(entry) | {"hash": entry.hash}


def ledger_lines(competition: Competition) -> Iterator[bytes]:
    """The whole ledger as JSON Lines, in parts of some lines each: docs/verification.md.

    Every version of the holdout that answered has its segment, the one in force also before it
    answers. Read up to the head that stood when reading began, whatever is appended meanwhile.
    """
    states = HoldoutState.objects.filter(holdout__competition=competition)
    lines = _lines(competition, list(states.select_related("holdout").order_by("holdout__version")))
    while part := b"".join(islice(lines, _LINES_AT_ONCE)):
        yield part


def _lines(competition: Competition, states: list[HoldoutState]) -> Iterator[bytes]:
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
        for entry in _entries(state):
            yield entry_line(ledger_document(entry), entry.hash)
        number, head = max(number, state.releases), header.head_hash


def _entries(state: HoldoutState) -> Iterator[Release]:
    """The releases up to the head that was read, one query for all of them."""
    rows = Release.objects.filter(holdout=state.holdout_id, number__lte=state.releases)
    ordered = rows.select_related("submission").order_by("number")
    return ordered.iterator(chunk_size=_FETCHED_ROWS)
