"""Stored files as binary streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from django.core.files.storage import default_storage


@contextmanager
def open_stored(name: str | None) -> Iterator[BinaryIO]:
    """The stored file of this name, for reading."""
    with default_storage.open(name or "", "rb") as file:
        yield cast(BinaryIO, file)
