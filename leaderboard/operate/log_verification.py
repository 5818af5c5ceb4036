"""Hold the database against the public log of a competition, which it can't change unseen.

The log's entries are those that were signed and copied; what they come to is what the database has;
every stored file is the one that was accepted. So whatever was changed past the product's own
functions is named: a file, a time, an owner, a team's name or mark, a limit, a final place.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from leaderboard.ledger.sanctions import is_ranked
from leaderboard.log import journal
from leaderboard.log.comparison import compare, name_of, of_entry, says
from leaderboard.log.entries import agrees, utc
from leaderboard.models import (
    Competition,
    EventCount,
    LogEntry,
    LogHead,
    Standing,
    Submission,
)
from leaderboard.platform.files import FileDamaged, open_whole
from scoring.chain import canonical
from scoring.transparency import merkle, notes
from scoring.verification.differences import Differs


def verify_log(competition: Competition, *, files: bool = True) -> int:
    """Check a competition's log, and that the database is what it tells; return its length.

    files: whether every stored file is read. Raises Differs at the first difference, JournalAway
    where the copy outside the database can't be read.
    """
    with transaction.atomic():
        count = EventCount.objects.filter(competition=competition).first()
        entries = list(LogEntry.objects.filter(competition=competition).order_by("index"))
    _check_tree(count or EventCount(), entries)
    _check_heads(competition, entries)
    _check_copy(competition, entries)
    if not entries:
        return 0  # it was opened by an earlier version, and no worker has looked since
    for contradiction in compare(competition, entries):
        raise contradiction.differs
    _check_places(competition)
    if files:
        _check_files(competition)
    return len(entries)


# --- The log itself -------------------------------------------------------------------------------


def _check_tree(count: EventCount, entries: Iterable[LogEntry]) -> None:
    frontier = merkle.Frontier()
    for entry in entries:
        if entry.index != frontier.size:
            raise of_entry(frontier.size, "index", "The database does not have it any more.")
        digest = merkle.leaf_hash(canonical(entry.document))
        if digest.hex() != entry.hash:
            raise of_entry(entry.index, "hash", "The database has another entry under its hash.")
        frontier = frontier.append(digest)
    if not agrees(count, frontier):
        message = f"The database counts {count.log_size} entries, and other hashes."
        raise Differs(None, "log", message)


def _check_heads(competition: Competition, entries: list[LogEntry]) -> None:
    """Check that every head that is kept was signed over these entries."""
    hashes = [bytes.fromhex(each.hash) for each in entries]
    node = merkle.nodes_of(hashes)
    for head in LogHead.objects.filter(competition=competition).order_by("size"):
        verifier = notes.Verifier.parse(head.verifier)
        checkpoint, _ = notes.open_checkpoint(head.note, verifier)
        if checkpoint.size > len(hashes) or checkpoint.root != merkle.root_at(
            checkpoint.size, node
        ):
            message = f"The head of {checkpoint.size} entries was signed over others."
            raise Differs(None, "head", message)


def _check_copy(competition: Competition, entries: list[LogEntry]) -> None:
    for line in journal.read(competition.uid):
        if line.index >= len(entries):
            message = "The copy outside the database has it, the database doesn't."
            raise of_entry(line.index, "journal", message)
        if line.hash != entries[line.index].hash:
            raise of_entry(line.index, "journal", "The copy outside the database has another one.")


# --- What follows from it -------------------------------------------------------------------------


def _check_places(competition: Competition) -> None:
    """Check what orders the boards: who was first on a score, and who is ranked at all."""
    standings = Standing.objects.filter(board__round__competition=competition)
    for row in standings.select_related("board", "team", "best__submission").order_by("pk"):
        where = f"standing of team {row.team.uid} on board {row.board.uid}"
        if row.best is not None and row.reached_at != row.best.submission.created_at:
            reached: datetime = row.best.submission.created_at
            raise Differs(None, f"{where}, reached_at", says(utc(reached), utc(row.reached_at)))
        if row.board.round.revealed_at is None and row.is_ranked != is_ranked(row.team):
            raise Differs(None, f"{where}, is_ranked", says(is_ranked(row.team), row.is_ranked))


def _check_files(competition: Competition) -> None:
    rows = Submission.objects.filter(team__competition=competition).exclude(file="")
    for row in rows.select_related("team").order_by("pk").iterator():
        where = f"{name_of((row.team.uid, row.number))}, stored file"
        try:
            with open_whole(row.file, row.sha256):
                pass
        except FileNotFoundError:
            raise Differs(None, where, "It is gone.") from None
        except FileDamaged:
            raise Differs(None, where, "It is not what was accepted.") from None
