"""From whatever was uploaded to the bytes of a UTF-8 text, or the reason why not."""

import codecs
import io
from collections.abc import Mapping
from typing import BinaryIO

from scoring.errors import Problem
from scoring.predictions import archives, parquet
from scoring.predictions.limits import CHUNK, Limits
from scoring.predictions.problems import Problems

Source = bytes | bytearray | memoryview | BinaryIO

# What people upload by mistake, by its first bytes.
MAGIC = {
    archives.GZIP: "gzip",
    archives.ZSTD: "zstd",
    archives.ZIP: "zip",
    parquet.ENCRYPTED: "encrypted Parquet",
    b"%PDF": "PDF",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "xls",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x93NUMPY": "npy",
    b"\x89HDF": "HDF5",
    b"ARROW1": "Feather",
    b"SQLite format 3\x00": "SQLite",
    b"\x89PNG": "image",
    b"\xff\xd8\xff": "image",
    b"GIF8": "image",
    b"\x7fELF": "program",
    b"\x80\x02": "pickle",
    b"\x80\x03": "pickle",
    b"\x80\x04": "pickle",
    b"\x80\x05": "pickle",
}
# Those of UTF-32 first: the little-endian one begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# Which of each four bytes are always NUL, in the Latin letters of a text without a mark.
_NULS = {
    (False, True, True, True): "UTF-32",
    (True, True, True, False): "UTF-32",
    (False, True, False, True): "UTF-16",
    (True, False, True, False): "UTF-16",
}


def read_text(
    source: Source,
    limits: Limits,
    problems: Problems,
    separators: Mapping[str, str] | None = None,
) -> bytes:
    """Return the UTF-8 text of a table, expanded, without byte order mark; Parquet becomes CSV.

    `separators`: what stands between the items of columns that hold lists; None where nobody knows
    yet which do. Whether all of it is UTF-8 is left to the readers, which see every byte anyway;
    `check_utf8` finds the first byte that isn't.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        data = _read_file(source, limits.max_bytes + 1)
    if len(data) > limits.max_bytes:
        problems.fail(Problem("too_many_bytes", limit=limits.max_bytes))
    data = archives.expand(data, limits, problems)
    if data.startswith(parquet.MAGIC):
        data = parquet.as_csv(data, separators, limits, problems)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        problems.fail(Problem("file_empty"))
    _refuse_other_formats(data, problems)
    return data


def check_utf8(data: bytes, problems: Problems) -> None:
    """Name the first byte that isn't UTF-8, in memory that doesn't grow with the file."""
    start = 0
    while start < len(data):
        chunk = data[start : start + CHUNK]
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            cut_by_us = error.end == len(chunk) and start + len(chunk) < len(data)
            start += error.start
            if cut_by_us and error.reason == "unexpected end of data":
                continue
            looks = data[start : start + 1].decode("cp1252", errors="replace")
            problems.fail(
                Problem(
                    "not_utf8",
                    line=line_of(data, start),
                    value=f"0x{data[start]:02X}",
                    byte=start + 1,
                    looks=looks if looks.isprintable() and looks != "�" else None,
                )
            )
        start += len(chunk)


def line_of(data: bytes, offset: int) -> int:
    """Return the line, from 1, of the byte at `offset`; LF, CR LF and CR end lines."""
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def _read_file(file: BinaryIO, most: int) -> bytes:
    """Read at most `most` bytes, also from a raw file that gives fewer than asked for."""
    # Memory is laid out for all that is asked for: a little more than the file has, at first.
    try:
        here = file.tell()
        size = file.seek(0, io.SEEK_END) - here + 1
        file.seek(here)
    except (OSError, AttributeError):
        size = CHUNK
    first = file.read(min(most, size)) or b""
    parts, left = [first], most - len(first)
    while left > 0 and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return first if len(parts) == 1 else b"".join(parts)


def _refuse_other_formats(data: bytes, problems: Problems) -> None:
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    for magic, what in MAGIC.items():
        if data.startswith(magic):
            problems.fail(Problem("binary_file", value=what))
    offset = data.find(b"\0")
    if offset >= 0 and len(data) >= 4 and encoding is None:
        encoding = _NULS.get(tuple(not any(data[place:200:4]) for place in range(4)))  # type: ignore[arg-type]
    if encoding is not None:
        problems.fail(Problem("not_utf8", variant="encoding", value=encoding))
    if offset >= 0:
        line = line_of(data, offset)
        problems.fail(Problem("binary_file", variant="nul", line=line, byte=offset + 1))
