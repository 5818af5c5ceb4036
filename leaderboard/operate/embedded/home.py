"""The directory that an embedded start keeps everything in, readable by its owner only."""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(Exception):
    """Another start holds this directory."""


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Make the directory (mode 0700) and keep it for this start alone.

    The lock is the system's: it ends with the last process that holds it, however that ended.
    Raises AlreadyRunning.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    with (directory / "run.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning from None
        yield


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone can read, even while it is being written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)


def ensure_secret_key(path: Path) -> None:
    """Draw the key that signs sessions, unless there is one."""
    if not path.is_file():
        write_private(path, secrets.token_urlsafe(64) + "\n")
