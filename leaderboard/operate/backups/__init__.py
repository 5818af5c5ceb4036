"""Backups: a database of one moment, the files that it names, and the watermark beside them.

A backup is a folder below `BACKUP_DIR`. Files are kept once for all of them, in `objects/`, by
their SHA-256. The watermark has one copy, which only ever grows: it is no part of a backup, and a
restore puts back of it only what is gone. So a restored database is always found to be behind it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command

from durable.files import Held, hold, sync, write_private
from leaderboard.ledger.pauses import look_for_rewinds, rewound
from leaderboard.ledger.recovery import recover_all
from leaderboard.operate.backups import database, objects

FORMAT: Final = "holdfast-backup"
VERSION: Final = 1
MANIFEST: Final = "backup.json"
FILES: Final = "files.jsonl"
WATERMARK: Final = "watermark"
_NAME: Final = "%Y-%m-%dT%H-%M-%SZ"

Say = Callable[[str], object]


class CannotBackUp(Exception):
    """Nothing was changed; the text says why."""


class CannotRestore(Exception):
    """The text says why, and what was done before."""


@dataclass(frozen=True)
class Backup:
    """A backup that was written whole."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def files(self) -> list[objects.Stored]:
        """Return the stored files that it has, by name."""
        return objects.read_list(self.folder / FILES)

    @property
    def database(self) -> Path:
        """Return its copy of the database."""
        return self.folder / str(self.manifest["database"]["file"])


def back_up(place: Path, *, keep: int = 0, with_files: bool = True, say: Say = print) -> Backup:
    """Write a backup into `place`, while the site runs; then leave the newest `keep`, if any.

    Raises CannotBackUp, or OSError where it can't be written: what was written before stays.
    """
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with hold(place / ".lock"):
            made = _write(place, with_files, say)
            if keep:
                _drop_old(place, keep, say)
            return made
    except Held:
        raise CannotBackUp(f"Another backup is being written into {place}.") from None


def restore(backup: Backup, *, with_files: bool = True, say: Say = print) -> list[str]:
    """Replace database and files by those of a backup; return the competitions that are behind.

    Stored files that the backup doesn't know stay, and so does every line of the watermark.
    Raises CannotRestore before anything is changed where the backup is damaged, or is of a newer
    version or another kind of database.
    """
    _check(backup, with_files)
    place = backup.folder.parent
    if with_files:
        put, kept = objects.put_back(place, backup.files)
        say(f"Files: {put} put back, {kept} were there.")
    database.load(backup.database, backup.manifest["migrations"])
    say(f"The database is that of {backup.manifest['taken_at']}.")
    for name in _put_back_watermark(place):
        say(f"The watermark's file {name} was gone: that of the newest backup is there now.")
    call_command("migrate", interactive=False, verbosity=0)
    look_for_rewinds()

    def fail(slug: str, error: Exception) -> None:
        say(
            f"{slug}: its log can't be taken ({type(error).__name__}: {error}), so what came after "
            f"the backup is missing. `python manage.py rewind {slug}` tries again."
        )

    for slug, entries in recover_all(fail).items():
        taken = "1 entry of its log was" if entries == 1 else f"{entries} entries of its log were"
        say(f"{slug}: {taken} taken that the backup lacks.")
    say("Announcements, texts, data files and accounts are in no log: what came later of these is")
    say("gone and can't be named. Ask organizers to look whether their newest are there.")
    return rewound()


def backups(place: Path) -> list[Backup]:
    """Return the whole backups in a folder, the newest first."""
    found = sorted(place.glob(f"*/{MANIFEST}"), reverse=True)
    return [Backup(path.parent, json.loads(path.read_text())) for path in found]


def open_backup(path: Path) -> Backup:
    """Return a backup by its folder, or the newest by the folder of all. Raises CannotRestore."""
    try:
        if (path / MANIFEST).is_file():
            found = [Backup(path, json.loads((path / MANIFEST).read_text()))]
        else:
            found = backups(path)
    except ValueError as error:
        raise CannotRestore(f"{path}: {MANIFEST} can't be read: {error}.") from None
    if not found:
        raise CannotRestore(f"There is no backup in {path}.")
    return found[0]


def _write(place: Path, with_files: bool, say: Say) -> Backup:
    now = datetime.now(UTC)
    part = place / ".part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o700)
    # In this order: whatever the database names is among the files, and no watermark is behind it.
    kind, saved = database.save(part)
    files = list[objects.Stored]()
    if with_files:
        earlier = backups(place)
        files = objects.keep(place, earlier[0].files if earlier else [])
    objects.write_list(part / FILES, files)
    _copy_watermark(place, say)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "taken_at": now.isoformat(timespec="seconds"),
        "with_files": with_files,
        "migrations": database.applied(),
        "database": {
            "kind": kind,
            "file": saved.name,
            "bytes": saved.stat().st_size,
            "sha256": objects.digest(saved),
        },
        "files": {"count": len(files), "sha256": objects.digest(part / FILES)},
    }
    write_private(part / MANIFEST, json.dumps(manifest, indent=1))
    folder = place / now.strftime(_NAME)
    part.rename(folder)
    sync(place)
    return Backup(folder, manifest)


def _drop_old(place: Path, keep: int, say: Say) -> None:
    for old in backups(place)[keep:]:
        shutil.rmtree(old.folder)
        say(f"{old.folder.name} was removed.")
    objects.drop_unnamed(place, {each.sha256 for left in backups(place) for each in left.files})


def _check(backup: Backup, with_files: bool) -> None:
    found = backup.manifest
    if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise CannotRestore(f"{backup.folder} is no backup that this version can read.")
    kind = found["database"]["kind"]
    if kind != database.kind():
        raise CannotRestore(f"It is of {kind}, and this database is {database.kind()}.")
    unknown = database.unknown(found["migrations"])
    if unknown:
        raise CannotRestore(
            f"It was made by a newer version of Holdfast, with {', '.join(unknown[:3])}."
        )
    for path, sha256 in (
        (backup.database, found["database"]["sha256"]),
        (backup.folder / FILES, found["files"]["sha256"]),
    ):
        if not path.is_file() or objects.digest(path) != sha256:
            raise CannotRestore(f"{path} is damaged: its SHA-256 is not what was written.")
    if with_files and (missing := objects.missing(backup.folder.parent, backup.files)):
        raise CannotRestore(
            f"{len(missing)} of its files are missing or damaged: {', '.join(missing[:3])}."
        )


def _copy_watermark(place: Path, say: Say) -> None:
    copies = place / WATERMARK
    copies.mkdir(mode=0o700, exist_ok=True)
    for path in _files_in(Path(settings.WATERMARK_DIR)):
        copy, content = copies / path.name, path.read_bytes()
        # What was to be forgotten shortens lines of a journal, and takes none away.
        if copy.is_file() and content.count(b"\n") < copy.read_bytes().count(b"\n"):
            say(f"The watermark's file {path} has lost lines that {copy} has: look into it.")
        else:
            write_private(copy, content.decode())


def _put_back_watermark(place: Path) -> list[str]:
    """Put files of the watermark back that are gone; those that are there are never touched."""
    target, put = Path(settings.WATERMARK_DIR), []
    for copy in _files_in(place / WATERMARK):
        if not (target / copy.name).exists():
            write_private(target / copy.name, copy.read_text())
            put.append(copy.name)
    return put


def _files_in(folder: Path) -> list[Path]:
    found = (path for path in folder.glob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(found)
