"""The rewind guard: how far each ledger has come, kept outside the database.

A restored backup would rewind budgets and thresholds while what was released stays known. So every
release leaves a line "number hash" in an append-only file, one for each ledger, in GUARD_DIR, and
nothing is released while the database knows less than the file, or something else.

The line is written after the commit. A crash between the two leaves the file one entry behind the
database, which the next release finds and mends; concurrent workers may write out of order, so the
highest number counts. A line that was cut short counts as not written.

The line "ended" is written before the first exact score is measured: a database of before the
finals must not answer on what everybody may know by then.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

_LINE = re.compile(rb"(\d+) ([0-9a-f]{64}|-)")
_ENDED = b"ended"
_TAIL_BYTES = 16 * 1024


class Rewound(Exception):
    """Database and guard tell different stories. The text names entries, never a score."""


class EndUndone(Rewound):
    """The database doesn't know of the finals, whose exact scores were measured."""

    def __str__(self) -> str:
        return "The guard knows that the final scores were measured; the database does not."


class GuardAway(Exception):
    """The guard can't be read or written: nothing may be released until it can."""


@dataclass(frozen=True)
class Head:
    """The newest entry of a ledger: its number, 0 before the first, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number} ({self.hash[:12] or 'empty'})"


def file_of(ledger: str) -> Path:
    """Where the lines of a ledger are."""
    return Path(settings.GUARD_DIR) / ledger


def read(ledger: str, *, only_look: bool = False) -> Head | None:
    """The highest entry that was written down; None where there is no file.

    Raises Rewound where no line can be read or two differ, GuardAway where the system refuses:
    also to write, unless one will `only_look`.
    """
    found = _tail(ledger, only_look)
    if found is None:
        return None
    heads = _heads(found)
    if not heads:
        raise Rewound(f"The guard's file {file_of(ledger)} is damaged.")
    last = max(heads, key=lambda head: head.number)
    if any(head.number == last.number and head != last for head in heads):
        raise Rewound(f"The guard knows two entries number {last.number}.")
    return last


def history(ledger: str) -> list[Head]:
    """What all lines say, the highest number first."""
    with _refusals():
        path = file_of(ledger)
        content = path.read_bytes() if path.exists() else b""
    return sorted(_heads(content), key=lambda head: head.number, reverse=True)


def check(
    ledger: str,
    known: Head,
    *,
    guarded: bool,
    follows: Callable[[Head], bool],
    only_look: bool = False,
) -> None:
    """Under the lock of the ledger: raises Rewound unless the database knows all that was released.

    `known` is the database's head, `guarded` whether there has been a file, and `follows` says
    whether the database has an entry that names this head as the one before it. What a crash left
    unwritten is written first, unless one will `only_look`. Raises GuardAway where that fails.
    """
    written = read(ledger, only_look=only_look)
    if written == known:
        return
    if written is None:
        if guarded:
            raise Rewound(f"The guard's file {file_of(ledger)} is missing.")
    elif written.number >= known.number or not follows(written):
        raise Rewound(f"The guard knows entry {written}, the database entry {known}.")
    if not only_look:
        append(ledger, known)


def append(ledger: str, head: Head) -> None:
    """Writes an entry down, for good. Raises GuardAway."""
    _write(ledger, f"{head.number} {head.hash or '-'}\n".encode())


def end(ledger: str) -> None:
    """Notes that exact scores are measured from now on. Raises GuardAway."""
    if not has_ended(ledger):
        _write(ledger, _ENDED + b"\n")


def has_ended(ledger: str, *, only_look: bool = False) -> bool:
    """Whether the end was noted. Raises GuardAway."""
    return _ENDED in (_tail(ledger, only_look) or b"").split(b"\n")[:-1]


def _write(ledger: str, line: bytes) -> None:
    path = file_of(ledger)
    with _refusals():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            whole = line if _ends_whole(file) else b"\n" + line
            if os.write(file, whole) < len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            _sync_directory(path.parent)


def _tail(ledger: str, only_look: bool) -> bytes | None:
    """The end of the file. Who releases opens it for writing, so that a guard that can't be is
    found."""
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
    """What the whole lines say; the last may have been cut short by a crash."""
    matches = (_LINE.fullmatch(line) for line in tail.split(b"\n")[:-1])
    return [
        Head(int(match[1]), "" if match[2] == b"-" else match[2].decode())
        for match in matches
        if match
    ]


def _ends_whole(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GuardAway(f"The rewind guard in {settings.GUARD_DIR}: {error.strerror}") from error
