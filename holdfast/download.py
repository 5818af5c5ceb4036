"""Downloading: under a temporary name, resumed where it broke off, renamed when complete."""

import hashlib
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import httpx

from holdfast.connection import Connection, Json, competition_path, write
from holdfast.errors import Failure, TooLong
from holdfast.output import Advance

SHA256 = re.compile("[0-9a-f]{64}")
INFORM = "Please inform the organizer of the competition."


def local_name(name: str) -> str:
    """Return the name that a server gave a file; raise Failure if it is not safe to use.

    No name can lead out of the folder, replace a hidden file or mean another drive.
    """
    has_folders = PurePosixPath(name).name != name or PureWindowsPath(name).name != name
    if not name or has_folders or name.startswith(".") or not name.isprintable() or ":" in name:
        raise Failure(
            f"The server offers a file named {name!r}, which cannot be saved safely.", hint=INFORM
        )
    return name


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(
    client: Connection, slug: str, file: Json, folder: Path, *, force: bool, advance: Advance
) -> bool:
    """Download one file of a competition into the folder; return False if it is there already.

    `file` is the server's entry: name, size, sha256. A file with the same content is left alone,
    one with other content is replaced only if forced. `advance` gets the number of new bytes.
    """
    target = folder / local_name(str(file["name"]))
    wanted = str(file["sha256"])
    if not SHA256.fullmatch(wanted):
        raise Failure("The server gave no valid checksum for this file.")
    if target.exists() and not force:
        if target.is_file() and digest(target) == wanted:
            return False
        raise Failure(
            f"{target} exists already and differs from the server's file.",
            hint="Use -o to replace it, or -p to choose another folder.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{target.name}.{wanted[:16]}.part"
    try:
        _complete(part, client, slug, file, advance)
    except TooLong:
        part.unlink()
        raise Failure(
            f"{target.name} is longer than the {int(file['size']):,} bytes that the server "
            "announced. Nothing was kept.",
            hint=INFORM,
        ) from None
    if digest(part) != wanted:
        part.unlink()
        raise Failure(
            f"{target.name} arrived damaged: its checksum is not the one that the server gave.",
            hint="Download it again.",
        )
    part.replace(target)
    return True


def _complete(part: Path, client: Connection, slug: str, file: Json, advance: Advance) -> None:
    """Append what is missing to the part, or start over where the server can't resume.

    A part longer than the file can't be its beginning.
    """
    have, length = part.stat().st_size if part.exists() else -1, int(file["size"])
    if have == length:
        return
    if have > length:
        part.unlink()
    headers = {}
    if 0 < have < length:
        headers = {"Range": f"bytes={have}-", "If-Range": f'"{file["sha256"]}"'}
    path = competition_path(slug, "files", str(file["name"]))
    with part.open("ab") as out, client.stream(path, headers) as response:
        if headers and response.status_code == httpx.codes.PARTIAL_CONTENT:
            advance(have)
            write(response, out, length - have, advance)
        else:
            out.truncate(0)
            write(response, out, length, advance)


def files_of(client: Connection, slug: str) -> list[Json]:
    """Return the server's entries of a competition's files."""
    return list(client.every(competition_path(slug, "files")))
