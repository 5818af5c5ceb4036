"""Store files on a disk so that they survive a power loss whole."""

from pathlib import Path
from typing import IO, Any

from django.core.files.storage import FileSystemStorage

from durable.files import give_to_owner, sync


class DurableFileSystemStorage(FileSystemStorage):
    """Sync a file to the disk before returning its name, so that no row outlives what it names."""

    def save(self, name: str | None, content: IO[Any], max_length: int | None = None) -> str:
        saved = super().save(name, content, max_length)
        path = Path(self.path(saved))
        give_to_owner(path, path.parent)
        sync(path)
        for folder in path.parents:
            sync(folder)
            if folder == Path(self.location):
                break
        return saved
