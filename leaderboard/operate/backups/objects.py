"""Stored files in backups: each content once, in `objects/`, by its SHA-256."""

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

from django.core.files.base import File
from django.core.files.storage import default_storage

from durable.files import sync
from leaderboard.platform.files import CHUNK, open_stored

OBJECTS: Final = "objects"


@dataclass(frozen=True)
class Stored:
    """A stored file as a backup knows it."""

    name: str
    size: int
    modified: str
    sha256: str


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep(place: Path, earlier: Collection[Stored]) -> list[Stored]:
    """Copy what is stored now and isn't there yet.

    A file of the size and time of an earlier backup isn't read again: stored files don't change.
    """
    known = {(each.name, each.size, each.modified): each for each in earlier}
    found = list[Stored]()
    for name in _names(""):
        try:
            size, modified = default_storage.size(name), default_storage.get_modified_time(name)
            same = known.get((name, size, modified.isoformat()))
            if same is None or not path_of(place, same.sha256).is_file():
                same = Stored(name, size, modified.isoformat(), _copy(place, name))
        except FileNotFoundError:
            continue  # deleted meanwhile: no row names it
        found.append(same)
    return found


def put_back(place: Path, files: Collection[Stored]) -> tuple[int, int]:
    """Store the files again that are gone or changed; return how many, and how many were whole."""
    put = 0
    for each in files:
        if default_storage.exists(each.name):
            with open_stored(each.name) as there:
                if _digest(there) == each.sha256:
                    continue
            default_storage.delete(each.name)
        with path_of(place, each.sha256).open("rb") as kept:
            default_storage.save(each.name, File(kept, name=each.name))
        put += 1
    return put, len(files) - put


def missing(place: Path, files: Collection[Stored]) -> list[str]:
    """Return the names of the files whose content is not there, or not whole."""
    sizes = {each.sha256: each.size for each in files}
    bad = {
        sha256
        for sha256, size in sizes.items()
        if not (path := path_of(place, sha256)).is_file()
        or path.stat().st_size != size
        or digest(path) != sha256
    }
    return [each.name for each in files if each.sha256 in bad]


def drop_unnamed(place: Path, named: Collection[str]) -> None:
    """Delete the contents that no backup names."""
    for path in (place / OBJECTS).glob("*/*"):
        if path.name not in named:
            path.unlink()


def path_of(place: Path, sha256: str) -> Path:
    """Return where a content is kept."""
    return place / OBJECTS / sha256[:2] / sha256


def write_list(path: Path, files: Collection[Stored]) -> None:
    """Write down which files a backup has."""
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in files))
    sync(path)


def read_list(path: Path) -> list[Stored]:
    """Read it again."""
    with path.open() as lines:
        return [Stored(**json.loads(line)) for line in lines]


def _names(folder: str) -> Iterator[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return  # nothing was ever stored
    for each in sorted(files):
        yield f"{folder}/{each}" if folder else each
    for each in sorted(folders):
        yield from _names(f"{folder}/{each}" if folder else each)


def _copy(place: Path, name: str) -> str:
    part = place / OBJECTS / f".{uuid4().hex}.part"
    part.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with open_stored(name) as source, part.open("wb") as out:
            sha256 = _digest(source, out)
        path = path_of(place, sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        sync(part)
        shutil.move(part, path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)
    return sha256


def _digest(source: IO[bytes], out: IO[bytes] | None = None) -> str:
    """Return the SHA-256 of what is read, and copied if there is where to."""
    sha256 = hashlib.sha256()
    while chunk := source.read(CHUNK):
        sha256.update(chunk)
        if out:
            out.write(chunk)
    return sha256.hexdigest()
