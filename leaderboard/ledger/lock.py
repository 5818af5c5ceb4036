"""The one way to lock a ledger: whatever changes it, or builds on it, checks the watermark first.

`tests/test_layers.py` keeps others from locking a ledger's row by themselves.
"""

from contextlib import suppress
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.models import Competition, Ledger, LedgerNote, Pause, Release, Round, Team
from leaderboard.platform.statements import prepared

_CLAIMS: Final = 0x486F6C64  # any number that nothing else on this database locks


def lock(competition: Competition) -> Competition:
    """Return the competition, locked against changes, with its ledgers locked against releases.

    For organizers' actions: raises Refused where the database knows less than the watermark, or
    the watermark can't be read. Everybody takes the competition first and then its ledgers by key,
    so that no two ever deadlock; a release takes one ledger, no competition. No lock covers keys:
    an upload holds its team while it inserts rows that refer to the competition, and would wait for
    whoever waits for that team.
    """
    locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    for row in _lock_rows(locked):
        try:
            check(row, only_look=True)
        except watermark.Rewound as rewound:
            raise Refused("paused") from rewound
        except watermark.WatermarkAway as away:
            raise Refused("watermark_away") from away
    return locked


def lock_whole(competition: Competition, *, besides: Ledger | None = None) -> bool:
    """Lock a locked competition's ledgers; return whether they know all that was released.

    besides: the one that is being repaired. Raises WatermarkAway.
    """
    try:
        for row in _lock_rows(competition):
            if row != besides:
                check(row, only_look=True)
    except watermark.Rewound:
        return False
    return True


def _lock_rows(competition: Competition) -> list[Ledger]:
    rows = Ledger.objects.select_for_update(no_key=True).filter(competition=competition)
    return list(rows.order_by("pk"))


def lock_teams(competition: Competition) -> None:
    """Let no upload, selection or new member commit until this transaction ends.

    Each of them locks its team: it comes before, or finds what this transaction has changed. Take
    it after `lock`.
    """
    teams = Team.objects.select_for_update(no_key=True).filter(competition=competition)
    list(teams.order_by("pk").values_list("pk"))


def lock_claims() -> None:
    """Let nobody else claim rows until this transaction ends: two ledgers may ask for the same.

    Take it after `lock`, and last. There is no row that both would lock, as the competitions of the
    same rows need know nothing of each other. On SQLite one transaction writes at a time anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIMS])


def lock_row(ledger: Ledger) -> Ledger:
    """Return the ledger's row, locked, for callers that `check` it in the same transaction."""
    (row,) = _lock_row(ledger.pk)
    return row


@prepared
def _lock_row(ledger: int) -> QuerySet[Ledger]:
    return Ledger.objects.select_for_update(no_key=True).filter(pk=ledger)


def check(ledger: Ledger, *, only_look: bool = False) -> None:
    """Check that the locked ledger knows all that was released. Raises Rewound or WatermarkAway.

    What a crash left unwritten is written. only_look: nothing is, and the watermark need not be
    writable.
    """
    known = watermark.Head(ledger.entries, ledger.head_hash)
    kept = watermark.read_all(ledger.uid, only_look=only_look)
    written = kept.head
    if written is None:
        if ledger.watermarked:
            raise watermark.Rewound(
                f"The watermark's file {watermark.file_of(ledger.uid)} is missing."
            )
    elif written != known:
        # A crash leaves the watermark one entry behind: then some entry names its head.
        named = {"number": written.number + 1, "previous_hash": written.hash}
        if written.number >= known.number or not has_entry(ledger, **named):
            raise watermark.Rewound(
                f"The watermark knows entry {written}, the database entry {known}."
            )
    if written != known and not only_look:
        watermark.append(ledger.uid, known)
    _check_words(ledger, kept)


def write_watermarks(competition: Competition) -> None:
    """Write down what a crash or an outage left unwritten. Raises WatermarkAway.

    Nothing is locked: what is written is committed, and the highest number counts. A ledger that
    was rewound is left to whoever repairs it.
    """
    for ledger in Ledger.objects.filter(competition=competition, entries__gt=0).order_by("pk"):
        with suppress(watermark.Rewound):
            check(ledger)


def _check_words(ledger: Ledger, kept: watermark.Written) -> None:
    """Check that the database knows of the end and of a move."""
    if kept.has_moved and ledger.paused_for != Pause.MOVED:
        raise watermark.MoveUndone
    if kept.has_ended:
        ended = Round.objects.filter(ledger=ledger, finals_started_at__isnull=False)
        if not ended.exists():
            raise watermark.EndUndone


def has_entry(ledger: Ledger, **named: Any) -> bool:
    """Return whether the ledger has such an entry, an answer or a note."""
    entries = (Release.objects, LedgerNote.objects)
    return any(each.filter(holdout__ledger=ledger, **named).exists() for each in entries)
