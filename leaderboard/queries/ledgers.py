"""The public ledger of releases."""

import math
from dataclasses import dataclass
from typing import Any

from leaderboard.models import (
    Competition,
    HoldoutState,
    Release,
)
from leaderboard.pipeline.release import ledger_document
from leaderboard.queries.boards import PAGE_ROWS
from leaderboard.queries.competitions import holdout_in_force


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
