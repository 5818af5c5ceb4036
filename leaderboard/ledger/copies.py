"""Copies of ledgers beside their watermarks, from which a restored database is brought back.

Whoever reads a ledger may keep it, and a replay takes any copy; these are our own. Workers append
the lines of new entries at each sweep: what a crash and a restore take together is lost here too,
and a copy that somebody else has still serves.
"""

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from leaderboard.ledger.lines import entries_after, lines_of
from leaderboard.ledger.watermark import Head
from leaderboard.models import Ledger

logger = logging.getLogger(__name__)

_TAIL_BYTES = 64 * 1024  # longer than any entry


def file_of(ledger: str) -> Path:
    """Return where the copy of a ledger is."""
    return Path(settings.WATERMARK_DIR) / f"{ledger}.jsonl"


def keep_all() -> None:
    """Copy what ledgers have answered since the last time; what can't be written is logged."""
    for ledger in Ledger.objects.filter(entries__gt=0, watermarked=True).order_by("pk"):
        try:
            _keep(ledger)
        except OSError as error:
            logger.error("The copy of ledger %s is not written: %s", ledger.pk, error.strerror)


def lines(ledger: Ledger, written: Head) -> Iterator[bytes]:
    """Return the published ledger up to an entry that the watermark knows, as far as it is kept.

    What the database has comes from there, the rest from the copy.
    """
    known = ledger.entries
    # Its last header then counts what follows, as the lost database's did.
    ledger.entries, ledger.head_hash = written.number, written.hash
    yield from lines_of(ledger)
    for line in _kept(ledger.uid):
        if known < _number(line) <= written.number:
            known += 1
            yield line


def _keep(ledger: Ledger) -> None:
    path = file_of(ledger.uid)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        tail = os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES)).split(b"\n")
        if tail[-1]:  # a crash cut the last line short
            os.ftruncate(file, size - len(tail[-1]))
        last = _number(tail[-2]) if len(tail) > 1 else 0
        if last < ledger.entries:
            os.write(file, b"".join(entries_after(ledger, last)))
            os.fsync(file)
    finally:
        os.close(file)


def _kept(ledger: str) -> Iterator[bytes]:
    path = file_of(ledger)
    if not path.exists():
        return
    with path.open("rb") as kept:
        yield from (line for line in kept if line.endswith(b"\n"))


def _number(line: bytes) -> int:
    return int(json.loads(line)["number"])
