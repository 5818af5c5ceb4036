"""Files on a disk that are still there, and whole, after a power loss."""

import os
from pathlib import Path
from typing import IO, Any

from django.core.files.storage import FileSystemStorage


class DurableFileSystemStorage(FileSystemStorage):
    """A file is on the disk before its name is returned, so that no row outlives what it names."""

    def save(self, name: str | None, content: IO[Any], max_length: int | None = None) -> str:
        saved = super().save(name, content, max_length)
        path = Path(self.path(saved))
        _sync(path)
        for folder in path.parents:
            _sync(folder)
            if folder == Path(self.location):
                break
        return saved


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
