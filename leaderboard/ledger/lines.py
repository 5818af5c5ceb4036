"""A ledger as it is published: a line for each header and entry, docs/verification.md."""

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter
from typing import Any

from django.db.models import QuerySet

from leaderboard.ledger.entries import ledger_document, scoring_facts
from leaderboard.models import Holdout, Ledger, LedgerNote, Release
from scoring.chain import document_hash
from scoring.verification.ledgers import Header, entry_line

_FETCHED_ROWS = 2000


def entries_after(ledger: Ledger, number: int) -> Iterator[bytes]:
    """Return the lines of the entries behind a number, without headers."""
    for holdout in ledger.holdouts.order_by("version"):
        for _, document, digest in _both(holdout, ledger.entries, number):
            yield entry_line(document, digest)


def lines_of(ledger: Ledger) -> Iterator[bytes]:
    """Return the published ledger line by line, up to the head that is on this very row."""
    before = (0, "")
    for holdout, end in _segments(ledger):
        facts = scoring_facts(holdout)
        header = Header(
            competition=ledger.competition.slug,
            version=holdout.version,
            scoring=facts,
            parameters_hash=document_hash(facts),
            first=before[0] + 1,
            previous_hash=before[1],
            entries=end[0] - before[0],
            head_hash=end[1],
        )
        yield header.line()
        for _, document, digest in _both(holdout, ledger.entries):
            yield entry_line(document, digest)
        before = end


def _segments(ledger: Ledger) -> list[tuple[Holdout, tuple[int, str]]]:
    """Return the versions that have a segment, each with number and hash of its newest entry.

    The last one ends with the ledger's stored head, so that a wrong one shows.
    """
    segments = []
    end = (0, "")
    for holdout in ledger.holdouts.order_by("version"):
        kinds = (
            Release.objects.filter(holdout=holdout, number__lte=ledger.entries),
            LedgerNote.objects.filter(holdout=holdout, number__lte=ledger.entries),
        )
        last = [rows.order_by("-number").values_list("number", "hash").first() for rows in kinds]
        known = [each for each in last if each is not None]
        if known or holdout.retired_at is None:
            end = max(known, default=end)
            segments.append((holdout, end))
    if segments:
        segments[-1] = (segments[-1][0], (ledger.entries, ledger.head_hash))
    return segments


_Line = tuple[int, dict[str, Any], str]


def _both(holdout: Holdout, last: int, after: int = 0) -> Iterator[_Line]:
    """Return answers and notes in order, up to the head that was read."""
    parts = (_entries(holdout, last, after), _notes(holdout, last, after))
    return merge(*parts, key=itemgetter(0))


def _entries(holdout: Holdout, last: int, after: int) -> Iterator[_Line]:
    """Return the releases, one query for all of them."""
    rows = described(Release.objects.filter(holdout=holdout, number__gt=after, number__lte=last))
    for entry in rows.order_by("number").iterator(chunk_size=_FETCHED_ROWS):
        yield entry.number, ledger_document(entry), entry.hash


def _notes(holdout: Holdout, last: int, after: int) -> Iterator[_Line]:
    rows = LedgerNote.objects.filter(holdout=holdout, number__gt=after, number__lte=last)
    for note in rows.order_by("number"):
        yield note.number, note.document, note.hash


def described(rows: QuerySet[Release]) -> QuerySet[Release]:
    """Return the releases with all that their documents name."""
    return rows.select_related("board", "team", "holdout__ledger")
