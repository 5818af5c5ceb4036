"""Look for bytes wherever a process could keep them: files, archives in files, memory."""

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

_GZIP = b"\x1f\x8b\x08"
_ZIP = b"PK\x03\x04"
_ZIP_HEADER = 30
_MOST = 64 * 2**20
_REGION = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (r\S+) \S+ \S+ \d+\s*(.*)")


def files_below(directory: Path) -> Iterator[Path]:
    """Return all files that there are."""
    return (path for path in directory.rglob("*") if path.is_file())


def files_of(process: psutil.Process) -> set[Path]:
    """Return the files that a process maps into its memory or has open."""
    mapped = {Path(line[3]) for line in _regions(process) if line[3].startswith("/")}
    opened = set[Path]()
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(OSError):
            opened.add(entry.readlink())
    return {path for path in mapped | opened if path.is_file() and path.parts[1] != "dev"}


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and all that it started."""
    return [process, *process.children(recursive=True)]


def found_in_file(path: Path, wanted: Iterable[bytes]) -> list[bytes]:
    """Return what of the wanted is in a file: plain, in gzip or zlib streams, or in zip members."""
    with suppress(OSError):
        content = path.read_bytes()
        texts = [content, *_unpacked(content)]
        return [each for each in wanted if any(each in text for text in texts)]
    return []


def found_in_memory(process: psutil.Process, wanted: Iterable[bytes]) -> list[bytes]:
    """Return what of the wanted is in a process's writable memory, as far as it can be read."""
    patterns = list(wanted)
    seen = set[bytes]()
    with Path(f"/proc/{process.pid}/mem").open("rb", buffering=0) as memory:
        for start, end, rights, name in _regions(process):
            if "w" not in rights or name.startswith("[v"):
                continue
            with suppress(OSError):
                memory.seek(start)
                content = os.read(memory.fileno(), min(end - start, _MOST))
                seen.update(each for each in patterns if each in content)
    return sorted(seen)


def _regions(process: psutil.Process) -> Iterator[tuple[int, int, str, str]]:
    for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
        if match := _REGION.match(line):
            yield int(match[1], 16), int(match[2], 16), match[3], match[4]


def _unpacked(content: bytes) -> Iterator[bytes]:
    for match in re.finditer(re.escape(_GZIP), content):
        yield _inflated(content[match.start() :], 31)
    for match in re.finditer(re.escape(_ZIP), content):
        header = content[match.start() : match.start() + _ZIP_HEADER]
        if len(header) == _ZIP_HEADER:
            names = int.from_bytes(header[26:28], "little") + int.from_bytes(
                header[28:30], "little"
            )
            yield _inflated(content[match.start() + _ZIP_HEADER + names :], -15)


def _inflated(content: bytes, bits: int) -> bytes:
    with suppress(zlib.error):
        return zlib.decompressobj(bits).decompress(content, _MOST)
    return b""
