"""Downloading: to a temporary name, resumed where it broke, renamed when it is whole."""

import hashlib
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath

import httpx

from holdfast.client import Client, Json, competition_path, write
from holdfast.errors import Failure, TooLong

SHA256 = re.compile("[0-9a-f]{64}")
Advance = Callable[[int], None]


class Outcome(Enum):
    """What became of one file."""

    downloaded = "downloaded"
    unchanged = "unchanged"


def local_name(name: str) -> str:
    """The name a server gave, if it is that of a file in one folder; Failure otherwise.

    So no name can lead out of the folder, replace a hidden file or mean another drive.
    """
    parts_differ = PurePosixPath(name).name != name or PureWindowsPath(name).name != name
    if not name or parts_differ or name.startswith(".") or not name.isprintable() or ":" in name:
        raise Failure(
            f"The server offers a file named {name!r}, which cannot be saved safely.",
            hint="Tell the organizer of the competition.",
        )
    return name


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(
    client: Client, slug: str, file: Json, folder: Path, *, force: bool, advance: Advance
) -> Outcome:
    """Bring one file of a competition into the folder.

    `file` is the server's entry: name, size, sha256. A file with the same content is left alone,
    one with another content is only replaced by force. `advance` gets the number of new bytes.
    """
    target = folder / local_name(str(file["name"]))
    wanted = str(file["sha256"])
    if not SHA256.fullmatch(wanted):
        raise Failure("The server announced no valid checksum for this file.")
    if target.exists() and not force:
        if target.is_file() and digest(target) == wanted:
            return Outcome.unchanged
        raise Failure(
            f"{target} is there already and differs from the server's file.",
            hint="Use -o to replace it, or -p to choose another folder.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{target.name}.{wanted[:16]}.part"
    if not _is_whole(part, int(file["size"])):
        try:
            _fetch(client, slug, file, part, advance)
        except TooLong:
            part.unlink()
            raise Failure(
                f"{target.name} is longer than the {int(file['size']):,} bytes that the server "
                "announced. Nothing was kept.",
                hint="Tell the organizer of the competition.",
            ) from None
    if digest(part) != wanted:
        part.unlink()
        raise Failure(
            f"{target.name} arrived damaged: its checksum is not the one the server announced.",
            hint="Download it again.",
        )
    part.replace(target)
    return Outcome.downloaded


def _is_whole(part: Path, size: int) -> bool:
    """Whether an earlier try got every byte; one that is too long is no beginning of the file."""
    have = part.stat().st_size if part.exists() else -1
    if have > size:
        part.unlink()
    return have == size


def _fetch(client: Client, slug: str, file: Json, part: Path, advance: Advance) -> None:
    """Append what is missing to the part, or start over where the server can't resume."""
    have, size = part.stat().st_size if part.exists() else 0, int(file["size"])
    headers = {}
    if have:
        headers = {"Range": f"bytes={have}-", "If-Range": f'"{file["sha256"]}"'}
    path = competition_path(slug, "files", str(file["name"]))
    with part.open("ab") as out, client.stream(path, headers) as response:
        if response.status_code == httpx.codes.PARTIAL_CONTENT:
            advance(have)
            write(response, out, size - have, advance)
        else:
            out.truncate(0)
            write(response, out, size, advance)
