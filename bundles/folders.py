"""Zip archives and folders as plain names with contents, never further than the limits.

A name is a relative path with forward slashes. Whatever could leave the folder, stand for something
else, or mean another file on another system is refused before a byte is unpacked.
"""

import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from bundles.errors import BundleError, Trouble, fail

MB: Final = 1_000_000
# Archives smaller than this, unpacked, are no bombs however well they are compressed.
_HARMLESS: Final = 20 * MB
_LONGEST_NAME: Final = 200
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PASSED_OVER: Final = re.compile(r"(^|/)(__MACOSX/|\.DS_Store$|\.git/|Thumbs\.db$)")
_BAD_ZIP: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError),
    *(ValueError, LookupError, OverflowError, NotImplementedError, OSError),
)


@dataclass(frozen=True)
class Limits:
    """How much a bundle may be: bytes in all and files, unpacked, and unpacked over packed."""

    unpacked: int = 2_000 * MB
    files: int = 1_000
    ratio: int = 200


@dataclass(frozen=True)
class Folder:
    """Files by name: how many bytes each has, and how to read it."""

    sizes: Mapping[str, int]
    reader: Callable[[str], bytes]

    def __contains__(self, name: object) -> bool:
        return name in self.sizes

    @property
    def names(self) -> list[str]:
        """Return all names in order."""
        return sorted(self.sizes)

    def read(self, name: str) -> bytes:
        """Return what is in a file. Raises BundleError where there is none, or it is damaged."""
        if name not in self.sizes:
            raise fail(name, "The bundle has no such file.")
        return self.reader(name)

    def below(self, name: str) -> list[str]:
        """Return the files of a folder, or the file of this name."""
        prefix = name.strip("/").removeprefix("./") + "/"
        return [each for each in self.names if f"{each}/" == prefix or each.startswith(prefix)]


def open_zip(file: BinaryIO, limits: Limits | None = None) -> Folder:
    """Return the files of an archive. Raises BundleError."""
    limits = limits or Limits()
    packed = file.seek(0, 2)
    try:
        archive = zipfile.ZipFile(file)
    except _BAD_ZIP:
        raise fail("", "This is no zip archive, or it is damaged.") from None
    members = {
        member.orig_filename: member
        for member in archive.infolist()
        if not member.orig_filename.endswith("/") and not _PASSED_OVER.search(member.orig_filename)
    }
    names = [member.orig_filename for member in archive.infolist() if not member.is_dir()]
    _check_amount({name: each.file_size for name, each in members.items()}, limits, packed)
    troubles = [*_find_wrong_names(name for name in names if not _PASSED_OVER.search(name))]
    troubles += [
        Trouble(name, what) for name, each in members.items() if (what := _why_not_plain(each))
    ]
    if troubles:
        raise BundleError(*troubles)

    def read(name: str) -> bytes:
        try:
            with archive.open(members[name]) as opened:
                content = opened.read(members[name].file_size + 1)
        except _BAD_ZIP:
            raise fail(name, "It is damaged in the archive.") from None
        if len(content) != members[name].file_size:
            raise fail(name, "It has another size than the archive says.")
        return content

    return _without_top({name: each.file_size for name, each in members.items()}, read)


def open_directory(path: Path, limits: Limits | None = None) -> Folder:
    """Return the files of a folder on this machine. Raises BundleError."""
    files = dict[str, Path]()
    troubles = []
    for each in sorted(path.rglob("*")):
        name = each.relative_to(path).as_posix()
        if _PASSED_OVER.search(f"{name}/" if each.is_dir() else name):
            continue
        if each.is_symlink():
            troubles.append(Trouble(name, "It is a link. Put the file itself there."))
        elif each.is_file():
            files[name] = each
        elif not each.is_dir():
            troubles.append(Trouble(name, "It is no plain file."))
    sizes = {name: each.stat().st_size for name, each in files.items()}
    _check_amount(sizes, limits or Limits(), None)
    troubles += _find_wrong_names(files)
    if troubles:
        raise BundleError(*troubles)
    return Folder(sizes, lambda name: files[name].read_bytes())


def from_files(files: Mapping[str, bytes]) -> Folder:
    """Return files in memory as a folder. Raises BundleError where a name is wrong."""
    if troubles := list(_find_wrong_names(files)):
        raise BundleError(*troubles)
    return Folder({name: len(content) for name, content in files.items()}, files.__getitem__)


def write_zip(file: IO[bytes], files: Iterable[tuple[str, bytes]]) -> None:
    """Write an archive. The same files give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)


def why_bad_name(name: str) -> str:
    """Return why a name can't be a file of a bundle; empty where it can."""
    parts = name.split("/")
    rules = {
        "The name is empty or too long.": not 0 < len(name) <= _LONGEST_NAME,
        "The path is absolute. Use one below the bundle's folder.": name.startswith(("/", "~"))
        or bool(_DRIVE.match(name)),
        "The path leaves the bundle by “..”.": ".." in parts,
        "The path has a backslash. Use forward slashes.": "\\" in name,
        "The name has characters that can't be printed.": not name.isprintable(),
        "The path has an empty part, or a “.”.": "" in parts or "." in parts,
    }
    return next((why for why, is_so in rules.items() if is_so), "")


def _find_wrong_names(names: Iterable[str]) -> Iterable[Trouble]:
    """Yield what is wrong with names, alone and beside each other."""
    seen, folders = dict[str, str](), dict[str, str]()
    for name in names:
        if why := why_bad_name(name):
            yield Trouble(_shown(name), why)
            continue
        folded = unicodedata.normalize("NFC", name).casefold()
        if (other := seen.get(folded)) is not None:
            same = "It is there twice." if other == name else f"“{other}” differs by case alone."
            yield Trouble(name, same)
        seen[folded] = name
        parts = folded.split("/")
        folders |= {"/".join(parts[:end]): name for end in range(1, len(parts))}
    for folded in seen.keys() & folders.keys():
        yield Trouble(seen[folded], "It is a file and a folder.")


def _why_not_plain(member: zipfile.ZipInfo) -> str:
    """Return why a member is no file to be unpacked; empty where it is one."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "It is a link. Put the file itself there."
    if kind not in (0, stat.S_IFREG):
        return "It is no plain file."
    if member.flag_bits & 1:
        return "It is locked by a password."
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "It is packed by a method that is not read here. Use deflate."
    return ""


def _check_amount(sizes: Mapping[str, int], limits: Limits, packed: int | None) -> None:
    """Raise BundleError where there is too much of it."""
    total = sum(sizes.values())
    if len(sizes) > limits.files:
        raise fail("", f"It has {len(sizes):,} files; a bundle has at most {limits.files:,}.")
    if total > limits.unpacked:
        most = f"{limits.unpacked / MB:,.0f} MB"
        raise fail("", f"Unpacked it has {total / MB:,.0f} MB; a bundle has at most {most}.")
    if packed is not None and total > max(_HARMLESS, limits.ratio * packed):
        raise fail(
            "",
            f"Unpacked it is {total // max(1, packed):,} times as large as the archive; a bundle "
            f"is at most {limits.ratio} times as large.",
        )


def _without_top(sizes: Mapping[str, int], read: Callable[[str], bytes]) -> Folder:
    """Return a folder without the one that all files are in, as many tools pack one."""
    tops = {name.partition("/")[0] for name in sizes}
    if len(tops) != 1 or any("/" not in name for name in sizes):
        return Folder(sizes, read)
    top = f"{tops.pop()}/"
    inner = {name.removeprefix(top): size for name, size in sizes.items()}
    return Folder(inner, lambda name: read(top + name))


def _shown(name: str) -> str:
    return ascii(name[:80])[1:-1] if not name.isprintable() else name[:80]
