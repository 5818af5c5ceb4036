"""The journal: a copy of each log outside the database, which a restored one is brought back from.

One file for each competition in WATERMARK_DIR, `<uid>.log`, in JSON Lines: index, document and
opening of each entry, in order. Only workers write it. A line that a crash cut short counts as not
written.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from durable.files import give_to_owner, sync, write_private
from leaderboard.log.entries import hash_of
from leaderboard.models import LogEntry
from scoring.transparency.merkle import LONGEST_ENTRY

# An entry and its opening, which is no longer than some names of files.
_TAIL_BYTES = 2 * LONGEST_ENTRY


class JournalAway(Exception):
    """The journal can't be read or written: no head is signed until it can."""


@dataclass(frozen=True)
class Line:
    """An entry as it was copied."""

    index: int
    document: dict[str, Any]
    opening: dict[str, Any] | None

    @property
    def hash(self) -> str:
        """Return the hash of the entry."""
        return hash_of(self.document).hex()

    @classmethod
    def parse(cls, line: bytes) -> "Line | None":
        """Return what a line says; None of one that was cut short."""
        try:
            found = json.loads(line)
            return cls(found["index"], found["document"], found["opening"])
        except (ValueError, KeyError, TypeError):
            return None


def file_of(uid: str) -> Path:
    """Return where the copy of a competition's log is."""
    return Path(settings.WATERMARK_DIR) / f"{uid}.log"


@contextmanager
def hold(uid: str) -> Iterator[None]:
    """Let no other worker write a journal meanwhile. Raises JournalAway."""
    path = file_of(uid)
    with _refusals():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        give_to_owner(lock, path.parent)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def last(uid: str) -> Line | None:
    """Return the last entry that was copied, None where there is none. Raises JournalAway."""
    with _refusals():
        try:
            file = os.open(file_of(uid), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            size = os.fstat(file).st_size
            tail = os.pread(file, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
        finally:
            os.close(file)
    lines = (Line.parse(line) for line in reversed(tail.split(b"\n")[:-1]))
    return next((line for line in lines if line is not None), None)


def read(uid: str) -> Iterator[Line]:
    """Yield all entries that were copied, in order. Raises JournalAway."""
    with _refusals():
        if not file_of(uid).exists():
            return
        with file_of(uid).open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and (found := Line.parse(line)) is not None:
                    yield found


def append(uid: str, entries: Iterable[LogEntry]) -> None:
    """Copy entries, durably; call it while holding the journal. Raises JournalAway."""
    path, text = file_of(uid), b"".join(map(_line, entries))
    with _refusals():
        is_new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            give_to_owner(file, path.parent)
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                text = b"\n" + text  # ends the line that a crash cut short
            if os.write(file, text) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            sync(path.parent)


def rewrite(uid: str, entries: Iterable[LogEntry]) -> None:
    """Write the copy anew, without what was to be forgotten. Raises JournalAway."""
    with _refusals():
        write_private(file_of(uid), b"".join(map(_line, entries)).decode())


def _line(entry: LogEntry) -> bytes:
    found = {"index": entry.index, "document": entry.document, "opening": entry.opening}
    return json.dumps(found, sort_keys=True, separators=(",", ":")).encode() + b"\n"


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise JournalAway(
            f"The log's copy in {settings.WATERMARK_DIR}: {error.strerror}"
        ) from error
