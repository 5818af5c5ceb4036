"""Locks that a dead process leaves behind free, and files that a power loss can't cut short."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Held(Exception):
    """Another process holds the lock. `by` is the process that said so, 0 where none did."""

    def __init__(self, by: int = 0) -> None:
        super().__init__(by)
        self.by = by


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a lock file, with this process's id in it; the system frees it however the process ends.

    Raises Held.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
    with os.fdopen(opened, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            written = lock.read(20).strip()
            raise Held(int(written) if written.isdecimal() else 0) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file that only its owner can read, even while it is being written.

    Readers see either the old content or the new, also after a power loss. Root leaves it to the
    owner of its directory.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(file, "w") as out:
        give_to_owner(file, path.parent)
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
    sync(path.parent)


def give_to_owner(file: int | Path, directory: Path) -> None:
    """Give what root made to the owner and the group of its directory, whose process needs it."""
    if os.geteuid() == 0:
        found = directory.stat()
        is_path = isinstance(file, Path)
        os.chown(file, found.st_uid, found.st_gid, follow_symlinks=not is_path)


def sync(path: Path) -> None:
    """Make a file or a folder durable: after this a power loss can't undo what was written."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
