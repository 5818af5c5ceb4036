"""Append to a competition's log, in the transaction of the change that an entry reports."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from leaderboard.models import EventCount, LogEntry, Submission
from leaderboard.platform.statements import insert_row
from scoring.chain import canonical
from scoring.transparency import leaves, merkle

_BATCH = 500
_ONCE = {"merged", "final", "revealed", "published"}


@dataclass(frozen=True)
class Leaf:
    """What is to be written: `fields` as they are, `hidden` ones as commitments to their texts.

    `kept` stands in the opening beside the salt and the texts. `at` is now unless it is given.
    """

    kind: str
    fields: Mapping[str, Any]
    hidden: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None
    submission: Submission | None = None


def append(count: EventCount, written: Iterable[Leaf], now: datetime) -> None:
    """Write entries behind the last one; `count` is the competition's row, locked by the caller.

    They are part of its log, and of none other, once the transaction is committed.
    """
    frontier, made = frontier_of(count), list[LogEntry]()
    for leaf in _untold(count, list(written)):
        entry = _entry(count, leaf, now, frontier.size)
        frontier = frontier.append(bytes.fromhex(entry.hash))
        made.append(entry)
    if len(made) == 1:
        insert_row(made[0])
    elif made:
        LogEntry.objects.bulk_create(made, batch_size=_BATCH)
    if made:
        count.log_size, count.log_hashes = _columns(frontier)


def _untold(count: EventCount, written: list[Leaf]) -> list[Leaf]:
    """Leave out what a log tells once and has told: a restored database does it once more."""
    once = {leaf.kind for leaf in written} & _ONCE
    if not once:
        return written
    rows = LogEntry.objects.filter(competition=count.competition_id, kind__in=once)
    documents = rows.values_list("document", flat=True)
    told = {canonical({**each, "at": ""}) for each in documents}
    return [
        leaf
        for leaf in written
        if canonical({"kind": leaf.kind, "at": "", **leaf.fields}) not in told
    ]


def take_over(count: EventCount) -> None:
    """Let the log of an imported competition go on behind the entries that came along.

    Raises ValueError where they are not what was written.
    """
    frontier = merkle.Frontier()
    for entry in LogEntry.objects.filter(competition=count.competition_id).order_by("index"):
        if entry.index != frontier.size or hash_of(entry.document).hex() != entry.hash:
            raise ValueError(f"entry {frontier.size} of the log is not what was written.")
        frontier = frontier.append(bytes.fromhex(entry.hash))
    count.log_size, count.log_hashes = _columns(frontier)
    count.save(update_fields=["log_size", "log_hashes"])


def forget(count: EventCount, kind: str, team: str) -> None:
    """Delete what entries about a team stand for; a worker takes it out of the journal, too."""
    about = LogEntry.objects.filter(competition=count.competition_id, kind=kind)
    about.filter(document__team=team).update(opening=None)
    count.forgets = True


def frontier_of(count: EventCount) -> merkle.Frontier:
    """Return what the log grows from."""
    return merkle.Frontier(count.log_size, tuple(map(bytes.fromhex, count.log_hashes)))


def agrees(count: EventCount, frontier: merkle.Frontier) -> bool:
    """Return whether a frontier is the one that the log grows from."""
    return (count.log_size, count.log_hashes) == _columns(frontier)


def hash_of(document: Mapping[str, Any]) -> bytes:
    """Return the hash of an entry, as it is published."""
    return merkle.leaf_hash(canonical(document))


def _columns(frontier: merkle.Frontier) -> tuple[int, list[str]]:
    return frontier.size, [each.hex() for each in frontier.hashes]


def utc(moment: datetime) -> str:
    """Return a moment as entries have it."""
    return moment.astimezone(UTC).isoformat()


def _entry(count: EventCount, leaf: Leaf, now: datetime, index: int) -> LogEntry:
    opening, fields = dict(leaf.kept), dict(leaf.fields)
    if leaf.hidden:
        salt = os.urandom(leaves.SALT_BYTES)
        fields |= {name: leaves.commit(salt, text) for name, text in leaf.hidden.items()}
        opening |= {"salt": salt.hex(), **leaf.hidden}
    # Finer moments than those of an upload would tell how long others took.
    at = utc(leaf.at or now.replace(microsecond=0))
    content = leaves.leaf(leaf.kind, at, **fields)
    return LogEntry(
        competition_id=count.competition_id,
        index=index,
        kind=leaf.kind,
        document={"kind": leaf.kind, "at": at, **fields},
        opening=opening or None,
        hash=merkle.leaf_hash(content).hex(),
        submission=leaf.submission,
    )
