"""The public ledger of releases."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Count

from leaderboard.access import Person, may_see_others
from leaderboard.ledger.entries import ledger_document
from leaderboard.ledger.lines import described, lines_of
from leaderboard.models import Holdout, Ledger, LedgerNote, Release, Round
from leaderboard.queries.paging import PAGE_ROWS

_LINES_AT_ONCE = 100


@dataclass(frozen=True)
class LedgerPage:
    """A page of the public ledger, newest first, of all versions of the solution.

    `notes` are the entries that are no answers: revisions, merged teams, duels, answers of gates,
    and what was written off. is_revised: whether the solution has more than one version.
    Those who may not know of other teams see the commitments and nothing else.
    """

    entries: tuple[dict[str, Any], ...]
    notes: tuple[dict[str, Any], ...]
    page: int
    pages: int
    total: int
    head_hash: str
    is_revised: bool
    solution_commitment: str
    secret_commitment: str


def ledger(round: Round, user: Person, *, page: int = 1, page_rows: int = PAGE_ROWS) -> LedgerPage:
    """Return a page of the ledger of a round's rows; an empty one where none is sealed."""
    row = Ledger.objects.filter(rounds=round).first()
    versions = Holdout.objects.filter(ledger=row).order_by("-version")
    active = next((each for each in versions if each.retired_at is None), None)
    facts: dict[str, Any] = {
        "is_revised": len(versions) > 1,
        "solution_commitment": active.solution_commitment if active else "",
        "secret_commitment": active.secret_commitment if active else "",
    }
    if not may_see_others(user, round.competition):
        return LedgerPage((), (), page=1, pages=1, total=0, head_hash="", **facts)
    answers = dict(versions.values_list("pk").annotate(count=Count("releases")))
    total = sum(answers.values())
    pages = max(1, math.ceil(total / page_rows))
    page = min(max(1, page), pages)
    chosen = _newest(
        [(version, answers[version.pk]) for version in versions], (page - 1) * page_rows, page_rows
    )
    notes = LedgerNote.objects.filter(holdout__ledger=row).order_by("-number")
    return LedgerPage(
        entries=tuple(
            ledger_document(entry) | {"version": entry.holdout.version, "hash": entry.hash}
            for entry in chosen
        ),
        notes=tuple({**note.document, "hash": note.hash} for note in notes),
        page=page,
        pages=pages,
        total=total,
        head_hash=row.head_hash if row else "",
        **facts,
    )


def _newest(versions: Sequence[tuple[Holdout, int]], skip: int, wanted: int) -> list[Release]:
    """Return a part of the ledger, newest first: each version's own index is read from its end."""
    found = list[Release]()
    for version, answers in versions:
        rows = described(Release.objects.filter(holdout=version))
        found += rows.order_by("-number")[skip : skip + wanted - len(found)]
        skip = max(0, skip - answers)
        if len(found) >= wanted:
            break
    return found


def ledger_lines(ledger: Ledger) -> Iterator[bytes]:
    """Return the whole ledger as JSON Lines, in parts of some lines each: docs/verification.md.

    Every version of the solution that answered has its segment, the active one also before it
    answers. Read up to the head that stood when reading began, whatever is appended meanwhile.
    """
    lines = lines_of(Ledger.objects.select_related("competition").get(pk=ledger.pk))
    while part := b"".join(islice(lines, _LINES_AT_ONCE)):
        yield part
