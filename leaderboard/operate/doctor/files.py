"""Storage, disks and collected static files."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

from leaderboard.operate.doctor.report import Finding, ok, told, wrong
from scoring.wording import in_bytes

CONTENT = b"written by manage.py doctor\n"


def storage() -> Iterator[Finding]:
    """Check that a file can be written, read back and deleted."""
    try:
        name = default_storage.save(f"doctor-{uuid.uuid4().hex}.txt", ContentFile(CONTENT))
        try:
            with default_storage.open(name) as file:
                same = file.read() == CONTENT
        finally:
            default_storage.delete(name)
    except Exception as error:  # each backend has its own exceptions
        # Our own backend raises with the object storage's error as its cause.
        yield wrong(f"Files can't be stored. {told(error.__cause__ or error)}", _how_to_reach_it())
        return
    if same:
        yield ok("A file was written, read back and deleted.")
    else:
        yield wrong("A file came back changed.", "Don't go on with this storage: replace it.")


def disk() -> Iterator[Finding]:
    """Check that two uploads of the largest size fit wherever this process writes."""
    needed = 2 * settings.MAX_UPLOAD_BYTES
    for place in _places():
        free = shutil.disk_usage(place).free
        if free < needed:
            yield wrong(
                f"{in_bytes(free)} are free below {place}; two large uploads need "
                f"{in_bytes(needed)}.",
                "Make room or enlarge that disk. Until then uploads may fail; nothing accepted is "
                "lost.",
            )
        else:
            yield ok(f"{in_bytes(free)} are free below {place}.")


def static_files() -> Iterator[Finding]:
    """Check that the pages' own files were collected."""
    if (settings.STATIC_ROOT / "staticfiles.json").is_file():
        yield ok("They are collected.")
    else:
        yield wrong(
            f"There are none in {settings.STATIC_ROOT}: pages of this process would fail.",
            "Run `python manage.py collectstatic --no-input`, or correct STATIC_ROOT.",
        )


def _places() -> list[Path]:
    """Return one directory for each disk that this process writes to."""
    wanted = [settings.VAR_DIR, Path(tempfile.gettempdir())]
    if isinstance(default_storage, FileSystemStorage):
        wanted.append(Path(default_storage.base_location))
    found = {path.stat().st_dev: path for path in map(Path, wanted) if path.is_dir()}
    return list(found.values())


def _how_to_reach_it() -> str:
    if settings.STORAGE_BUCKET:
        return (
            "Correct STORAGE_BUCKET, STORAGE_ENDPOINT_URL and the AWS_ variables; the account must "
            "be able to list, read, write and delete in that bucket."
        )
    place = settings.VAR_DIR / "storage"
    return f"This account must be able to write below {place}: `chown -R` it to the account."
