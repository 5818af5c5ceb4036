"""Signed heads: what the world may hold a log to.

A head is signed only if it follows from the one before by the entries that the database has, and
once these lie in the journal outside the database: no restored backup takes back what was signed.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from durable.watermark import WatermarkAway
from leaderboard.log import journal, keys
from leaderboard.log.entries import agrees, hash_of
from leaderboard.log.tiles import keep_nodes
from leaderboard.models import Competition, EventCount, LogEntry, LogHead
from leaderboard.platform.secrets import LOG_KEY
from scoring.transparency import notes
from scoring.transparency.merkle import Frontier
from scoring.verification.differences import Differs

logger = logging.getLogger(__name__)

_KEPT = timedelta(days=1)
_BATCH = 5_000


class LogDiffers(Exception):
    """What the database has is not what was signed or copied. The text names the entry."""


def newest(competition: Competition) -> LogHead | None:
    """Return the last head that was signed."""
    return LogHead.objects.filter(competition=competition).order_by("-size").first()


def behind() -> QuerySet[EventCount]:
    """Return the logs with entries that no head has, or with openings to be forgotten."""
    heads = LogHead.objects.filter(competition=OuterRef("competition")).order_by("-size")
    signed = Coalesce(Subquery(heads.values("size")[:1]), 0)
    counts = EventCount.objects.annotate(signed=signed).select_related("competition")
    return counts.filter(Q(log_size__gt=F("signed")) | Q(forgets=True)).order_by("competition")


def sign_all(prepare: Callable[[Competition], None] = lambda _: None) -> None:
    """Sign what can be signed; whatever is in the way of one log is logged, and tried again."""
    if not LOG_KEY.source:
        return
    for count in behind():
        try:
            sign(count.competition, prepare)
        except (keys.NoKey, journal.JournalAway, WatermarkAway) as away:
            logger.error("The log of competition %s waits: %s", count.competition_id, away)
        except LogDiffers as differs:
            logger.critical("The log of competition %s: %s", count.competition_id, differs)


def sign(
    competition: Competition, prepare: Callable[[Competition], None] = lambda _: None
) -> LogHead | None:
    """Copy the entries that no head has, and sign one over all; return the newest head.

    prepare: is called before, when all that these entries tell is committed. Raises what it
    raises, NoKey, JournalAway, and LogDiffers where the database has other entries than were copied
    or signed: then its log is one that a backup, or somebody, has changed.
    """
    key = keys.log_key(competition)
    with journal.hold(competition.uid):
        head, count = newest(competition), EventCount.objects.get(competition=competition)
        prepare(competition)
        if count.forgets:
            _forget(competition)
        before = Frontier.from_json(head.frontier) if head else Frontier()
        copied = _copied(competition)
        frontier, batch = before, list[LogEntry]()
        for entry in _entries(competition, min(before.size, copied), count.log_size):
            if entry.index >= before.size:
                frontier = _follow(frontier, entry)
            if entry.index >= copied:
                batch.append(entry)
            if len(batch) == _BATCH:
                journal.append(competition.uid, batch)
                batch = []
        if not agrees(count, frontier):
            raise LogDiffers("Its entries are not those that the database counts.")
        if batch:
            journal.append(competition.uid, batch)
        return head if frontier == before else _write(competition, key, frontier)


def cosign(competition: Competition, note: str) -> LogHead:
    """Add the signatures of configured witnesses to the head that they signed.

    Raises Differs where the note is none, or of no head that is kept here, or nobody who is known
    signed it.
    """
    given = notes.Note.parse(note)
    size = notes.Checkpoint.parse(given.text).size
    signed = given.signed_by(witnesses())
    with transaction.atomic():
        rows = LogHead.objects.select_for_update(no_key=True)
        head = rows.filter(competition=competition, size=size).first()
        if head is None or notes.Note.parse(head.note).text != given.text:
            raise Differs(None, "checkpoint", "It is no head of this log that is kept here.")
        if not signed:
            raise Differs(None, "signature", "No witness that is known here signed it.")
        theirs = [
            each for each in given.signatures if any(verifier.knows(each) for verifier in signed)
        ]
        head.note = str(notes.Note.parse(head.note).and_signed(*theirs))
        head.witnesses = sorted({*head.witnesses, *(each.name for each in signed)})
        head.save(update_fields=["note", "witnesses"])
    return head


def witnesses() -> list[notes.Verifier]:
    """Return the keys of the witnesses that this site takes cosignatures of."""
    return [notes.Verifier.parse(each) for each in settings.WITNESSES]


def _entries(competition: Competition, start: int, end: int) -> Iterator[LogEntry]:
    rows = LogEntry.objects.filter(competition=competition, index__gte=start, index__lt=end)
    return rows.order_by("index").iterator(chunk_size=_BATCH)


def _follow(frontier: Frontier, entry: LogEntry) -> Frontier:
    if entry.index != frontier.size:
        raise LogDiffers(f"Entry {frontier.size} is missing.")
    found = hash_of(entry.document)
    if found.hex() != entry.hash:
        raise LogDiffers(f"Entry {entry.index} is not what was written.")
    return frontier.append(found)


def _copied(competition: Competition) -> int:
    """Return how many entries the journal has. Raises LogDiffers where the database lacks one."""
    line = journal.last(competition.uid)
    if line is None:
        return 0
    entry = LogEntry.objects.filter(competition=competition, index=line.index).first()
    if entry is None or entry.hash != line.hash:
        raise LogDiffers(
            f"Its copy at {journal.file_of(competition.uid)} has an entry {line.index} that the "
            "database lacks, as after the restore of a backup."
        )
    return line.index + 1


def _write(competition: Competition, key: notes.Key, frontier: Frontier) -> LogHead:
    now = timezone.now()
    checkpoint = notes.Checkpoint(keys.origin(competition), frontier.size, frontier.root())
    with transaction.atomic():
        keep_nodes(competition, frontier.size)
        head, _ = LogHead.objects.get_or_create(
            competition=competition,
            size=frontier.size,
            defaults={
                "frontier": frontier.to_json(),
                "note": str(notes.sign(checkpoint.text, key)),
                "verifier": str(key.verifier),
                "created_at": now,
            },
        )
        # Witnesses may still sign heads of the last hours.
        old = LogHead.objects.filter(competition=competition, size__lt=frontier.size)
        old.filter(created_at__lt=now - _KEPT, witnesses=[]).delete()
    return head


def _forget(competition: Competition) -> None:
    """Write the journal anew without the openings that were deleted."""
    EventCount.objects.filter(competition=competition).update(forgets=False)
    copied = _copied(competition)
    journal.rewrite(competition.uid, _entries(competition, 0, copied))
