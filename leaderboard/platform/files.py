"""Stored files as binary streams."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.storage import default_storage

CHUNK = 1 << 20


class FileDamaged(Exception):
    """A stored file is not what was stored. The text tells the organizer what to do."""


class Held(Exception):
    """Another process holds the lock."""


@contextmanager
def open_stored(name: str | None) -> Iterator[BinaryIO]:
    """Open the stored file of this name for reading."""
    with default_storage.open(name or "", "rb") as file:
        yield cast(BinaryIO, file)


@contextmanager
def open_whole(name: str, sha256: str) -> Iterator[BinaryIO]:
    """Open a file that was stored with this digest; raise FileDamaged where it has another.

    A power loss can cut an accepted file short, or leave zeros in it: that must not look like its
    sender's mistake. Once it is open, the storage isn't asked any more.
    """
    with open_stored(name) as file:
        digest = hashlib.sha256()
        while chunk := file.read(CHUNK):
            digest.update(chunk)
        if digest.hexdigest() != sha256:
            raise FileDamaged(
                f"The stored file {name} is damaged: put it back from a backup, then queue this "
                "again."
            )
        file.seek(0)
        yield file


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a lock file; the system frees it however its process ended. Raises Held."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Held from None
        yield


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, even while it is being written.

    Readers see either the old content or the new, also after a power loss.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file or a folder durable: after this a power loss can't undo what was written."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
