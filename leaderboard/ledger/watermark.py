"""The watermark: how far each ledger has come, kept outside the database.

A restored backup would rewind budgets and thresholds while everything released stays known. So
every release appends a line "number hash" to a file, one for each ledger, in WATERMARK_DIR, and
nothing is released while the database knows less than the file, or something else.

The line is written after the commit. A crash between the two leaves the file one entry behind the
database, which the next release finds and repairs; concurrent workers may write out of order, so
the highest number counts. A line that was cut short counts as not written.

The line "moved" is written before the secrets of a ledger leave for another installation: a
database restored from before that must not answer beside it.

The line "ended" is written before the first exact score is measured: a database restored from
before the finals must not answer questions about what everybody may know by then.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from leaderboard.platform.files import sync

_LINE = re.compile(rb"(\d+) ([0-9a-f]{64}|-)")
_ENDED = b"ended"
_MOVED = b"moved"
_TAIL_BYTES = 16 * 1024


class Rewound(Exception):
    """Database and watermark differ. The text names entries, never a score."""


class EndUndone(Rewound):
    """The database doesn't know of the finals, whose exact scores were measured."""

    def __str__(self) -> str:
        return "The watermark knows that the final scores were measured; the database does not."


class MoveUndone(Rewound):
    """The database doesn't know that the ledger went to another installation."""

    def __str__(self) -> str:
        return "The watermark knows that this ledger was moved away; the database does not."


class WatermarkAway(Exception):
    """The watermark can't be read or written: nothing may be released until it can."""


@dataclass(frozen=True)
class Head:
    """The newest entry of a ledger: its number, 0 before the first, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number} ({self.hash[:12] or 'empty'})"


def file_of(ledger: str) -> Path:
    """Return where the lines of a ledger are."""
    return Path(settings.WATERMARK_DIR) / ledger


def read(ledger: str, *, only_look: bool = False) -> Head | None:
    """Return the highest entry that was written down; None where there is no file.

    Raises Rewound where no line can be read or two differ, WatermarkAway where the system refuses
    to read it, or, unless `only_look`, to write it.
    """
    found = _tail(ledger, only_look)
    if found is None:
        return None
    heads = _heads(found)
    if not heads:
        raise Rewound(f"The watermark's file {file_of(ledger)} is damaged.")
    last = max(heads, key=lambda head: head.number)
    if any(head.number == last.number and head != last for head in heads):
        raise Rewound(f"The watermark knows two entries number {last.number}.")
    return last


def history(ledger: str) -> list[Head]:
    """Return the heads of all lines, the highest number first."""
    with _refusals():
        path = file_of(ledger)
        content = path.read_bytes() if path.exists() else b""
    return sorted(_heads(content), key=lambda head: head.number, reverse=True)


def append(ledger: str, head: Head) -> None:
    """Write an entry down, durably. Raises WatermarkAway."""
    _write(ledger, f"{head.number} {head.hash or '-'}\n".encode())


def append_where_writable(ledger: str, head: Head) -> None:
    """Write a committed entry down, or leave it to the next worker that locks the ledger.

    Where web servers only read the watermark, what an organizer orders is done all the same.
    """
    with suppress(WatermarkAway):
        append(ledger, head)


def end(ledger: str) -> None:
    """Note that exact scores are measured from now on. Raises WatermarkAway."""
    if not has_ended(ledger):
        _write(ledger, _ENDED + b"\n")


def has_ended(ledger: str, *, only_look: bool = False) -> bool:
    """Return whether the end was noted. Raises WatermarkAway."""
    return _has(ledger, _ENDED, only_look)


def move(ledger: str) -> None:
    """Note that the ledger is another installation's from now on. Raises WatermarkAway."""
    if not has_moved(ledger):
        _write(ledger, _MOVED + b"\n")


def has_moved(ledger: str, *, only_look: bool = False) -> bool:
    """Return whether that was noted. Raises WatermarkAway."""
    return _has(ledger, _MOVED, only_look)


def _has(ledger: str, word: bytes, only_look: bool) -> bool:
    return word in (_tail(ledger, only_look) or b"").split(b"\n")[:-1]


def _write(ledger: str, line: bytes) -> None:
    path = file_of(ledger)
    with _refusals():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line  # ends the line that a crash cut short
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            sync(path.parent)


def _tail(ledger: str, only_look: bool) -> bytes | None:
    """Return the end of the file.

    A release opens it for writing, so that one that can't be written is found beforehand.
    """
    with _refusals():
        try:
            file = os.open(file_of(ledger), os.O_RDONLY if only_look else os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return None
        try:
            skipped = max(0, os.fstat(file).st_size - _TAIL_BYTES)
            tail = os.pread(file, _TAIL_BYTES, skipped)
            return tail.partition(b"\n")[2] if skipped else tail
        finally:
            os.close(file)


def _heads(tail: bytes) -> list[Head]:
    """Return the heads of the whole lines; a crash may have cut the last one short."""
    matches = (_LINE.fullmatch(line) for line in tail.split(b"\n")[:-1])
    return [
        Head(int(match[1]), "" if match[2] == b"-" else match[2].decode())
        for match in matches
        if match
    ]


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WatermarkAway(
            f"The watermark in {settings.WATERMARK_DIR}: {error.strerror}"
        ) from error
