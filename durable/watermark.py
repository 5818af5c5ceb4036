"""How far each ledger has come, kept outside the database that has it.

A restored backup would rewind budgets and thresholds while everything released stays known. So
every release appends a line "number hash" to a file, one for each ledger, and nothing is released
while the database knows less than the file, or something else.

The line is written after the commit. A crash between the two leaves the file one entry behind the
database, which the next release finds and repairs; concurrent workers may write out of order, so
the highest number counts. A line that was cut short counts as not written.

Other lines are words, such as that the ledger was moved away.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from durable.files import give_to_owner, sync

_HEADS = re.compile(rb"^(\d+) ([0-9a-f]{64}|-)\n", re.MULTILINE)
_BEGUN = re.compile(rb"\d*( [0-9a-f-]{0,64})?")
_TAIL_BYTES = 16 * 1024


class Rewound(Exception):
    """Database and watermark differ. The text names entries, never a score."""


class WatermarkAway(Exception):
    """The watermark can't be read or written: nothing may be released until it can."""


@dataclass(frozen=True)
class Head:
    """The newest entry of a ledger: its number, 0 before the first, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number} ({self.hash[:12] or 'empty'})"


@dataclass(frozen=True)
class Written:
    """What a ledger's file says: its highest entry, None without a line, and all lines."""

    head: Head | None
    lines: frozenset[bytes] = frozenset()


@dataclass(frozen=True)
class Watermark:
    """The files of a directory, each named by its ledger."""

    directory: Path

    def file_of(self, ledger: str) -> Path:
        """Return where the lines of a ledger are."""
        return self.directory / ledger

    def read(self, ledger: str, *, only_look: bool = False) -> Written:
        """Return what was written down.

        Raises Rewound where no line can be read or two differ, WatermarkAway where the system
        refuses to read it, or, unless `only_look`, to write it.
        """
        found = self._tail(ledger, only_look)
        # The very first line may have been cut short: then nothing was written.
        if found is None or _BEGUN.fullmatch(found):
            return Written(None)
        return Written(self._highest(ledger, found), _whole_lines(found))

    def has(self, ledger: str, word: bytes, *, only_look: bool = False) -> bool:
        """Return whether a word was written. Raises WatermarkAway."""
        return word in _whole_lines(self._tail(ledger, only_look) or b"")

    def history(self, ledger: str) -> list[Head]:
        """Return the heads of all lines, the highest number first."""
        with self._refusals():
            path = self.file_of(ledger)
            content = path.read_bytes() if path.exists() else b""
        return [_head(each) for each in sorted(_heads(content), reverse=True)]

    def append(self, ledger: str, head: Head) -> None:
        """Write an entry down, durably. Raises WatermarkAway."""
        self.write(ledger, f"{head.number} {head.hash or '-'}".encode())

    def write(self, ledger: str, word: bytes) -> None:
        """Write a line, durably. Raises WatermarkAway."""
        path, line = self.file_of(ledger), word + b"\n"
        with self._refusals():
            is_new = not path.exists()
            file = _create(path) if is_new else os.open(path, os.O_RDWR | os.O_APPEND)
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

    def _highest(self, ledger: str, found: bytes) -> Head:
        heads = _heads(found)
        if not heads:
            raise Rewound(f"The watermark's file {self.file_of(ledger)} is damaged.")
        last = max(heads)[0]
        (head, *others) = {head for head in heads if head[0] == last}
        if others:
            raise Rewound(f"The watermark knows two entries number {last}.")
        return _head(head)

    def _tail(self, ledger: str, only_look: bool) -> bytes | None:
        """Return the end of the file.

        A release opens it for writing, so that one that can't be written is found beforehand.
        """
        with self._refusals():
            try:
                mode = os.O_RDONLY if only_look else os.O_RDWR | os.O_APPEND
                file = os.open(self.file_of(ledger), mode)
            except FileNotFoundError:
                return None
            try:
                skipped = max(0, os.fstat(file).st_size - _TAIL_BYTES)
                tail = os.pread(file, _TAIL_BYTES, skipped)
                return tail.partition(b"\n")[2] if skipped else tail
            finally:
                os.close(file)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WatermarkAway(f"The watermark in {self.directory}: {error.strerror}") from error


def _create(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = 0o600 | path.parent.stat().st_mode & 0o040  # readers may be users of their own
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
    give_to_owner(file, path.parent)
    return file


def _whole_lines(tail: bytes) -> frozenset[bytes]:
    """Return the lines that no crash cut short."""
    return frozenset(tail.split(b"\n")[:-1])


def _heads(tail: bytes) -> list[tuple[int, bytes]]:
    return [(int(number), found) for number, found in _HEADS.findall(tail)]


def _head(found: tuple[int, bytes]) -> Head:
    number, digest = found
    return Head(number, "" if digest == b"-" else digest.decode())
