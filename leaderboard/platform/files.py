"""Stored files as binary streams."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from django.core.files.storage import default_storage

CHUNK = 1 << 20


class FileDamaged(Exception):
    """A stored file is not what was stored. The text tells the organizer what to do."""


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
