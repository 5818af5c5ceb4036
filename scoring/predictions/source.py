"""From whatever was uploaded to the bytes of a UTF-8 text, or the reason why not."""

import codecs
import io
from collections.abc import Mapping
from typing import BinaryIO

from scoring.errors import Problem
from scoring.predictions import archives, parquet
from scoring.predictions.limits import CHUNK, Limits, too_large
from scoring.predictions.problems import Problems

Source = bytes | bytearray | memoryview | BinaryIO

# What people upload by mistake, by its first bytes.
_MAGIC = (
    (archives.GZIP, "a gzip file inside another archive"),
    (archives.ZSTD, "a zstd file inside another archive"),
    (archives.ZIP, "a zip archive inside another archive"),
    (parquet.ENCRYPTED, "an encrypted Parquet file"),
    (b"%PDF", "a PDF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls)"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "a Feather file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x7fELF", "a program"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(
    source: Source,
    limits: Limits,
    problems: Problems,
    separators: Mapping[str, str] | None = None,
) -> bytes:
    """The UTF-8 text of a table, expanded, without byte order mark; Parquet becomes CSV.

    `separators`: what stands between the items of columns that hold lists, where it isn't a space.
    Whether all of it is UTF-8 is left to the readers, which see every byte anyway; `check_utf8`
    finds the first byte that isn't.
    """
    data = archives.expanded(_read(source, limits, problems), limits, problems)
    if data.startswith(parquet.MAGIC):
        data = parquet.as_csv(data, separators or {}, limits, problems)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        problems.fail(Problem("file_empty", "The file is empty.", expected="a header and rows"))
    _refuse_other_formats(data, problems)
    return data


def check_utf8(data: bytes, problems: Problems) -> None:
    """Names the first byte that isn't UTF-8, in memory that doesn't grow with the file."""
    offset = _first_wrong_byte(data)
    if offset is None:
        return
    byte = data[offset]
    looks = bytes([byte]).decode("cp1252", errors="replace")
    hint = f" ('{looks}' in Windows-1252?)" if looks.isprintable() and looks != "�" else ""
    line = line_of(data, offset)
    problems.fail(
        Problem(
            "not_utf8",
            f"Line {line}: byte {offset + 1} of the text, 0x{byte:02X}{hint}, is not UTF-8. "
            "Save the file as UTF-8.",
            line=line,
            value=f"0x{byte:02X}",
            expected="UTF-8",
        )
    )


def line_of(data: bytes, offset: int) -> int:
    """The line, from 1, that the byte at `offset` is on; LF, CR LF and CR end lines."""
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def _read(source: Source, limits: Limits, problems: Problems) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        data = _read_file(source, limits.max_bytes + 1)
    if len(data) > limits.max_bytes:
        problems.fail(too_large("The file is", limits.max_bytes))
    return data


def _read_file(file: BinaryIO, most: int) -> bytes:
    """At most `most` bytes, also from a raw file that gives fewer than asked for."""
    first = file.read(min(most, _size(file))) or b""
    parts, left = [first], most - len(first)
    while left > 0 and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return first if len(parts) == 1 else b"".join(parts)


def _size(file: BinaryIO) -> int:
    """How much to ask a file for at first: a little more than it has, or else a mebibyte.

    Memory is laid out for all that is asked for.
    """
    try:
        here = file.tell()
        size = file.seek(0, io.SEEK_END) - here
        file.seek(here)
    except (OSError, AttributeError):
        return CHUNK
    return size + 1


def _refuse_other_formats(data: bytes, problems: Problems) -> None:
    if data.startswith(_UTF16):
        problems.fail(_utf16())
    for magic, what in _MAGIC:
        if data.startswith(magic):
            problems.fail(archives.other_format(what))
    if (offset := data.find(b"\0")) >= 0:
        problems.fail(_utf16() if _alternates(data) else _nul(data, offset))


def _alternates(data: bytes) -> bool:
    """Whether every second byte is NUL, as in UTF-16 without a mark."""
    even, odd = data[:200:2], data[1:200:2]
    return len(odd) > 1 and (not any(even) or not any(odd))


def _utf16() -> Problem:
    return Problem(
        "not_utf8",
        "The file is UTF-16 (Excel calls it Unicode Text). Save it as CSV UTF-8.",
        value="UTF-16",
        expected="UTF-8",
    )


def _nul(data: bytes, offset: int) -> Problem:
    line = line_of(data, offset)
    return Problem(
        "binary_file",
        f"Line {line}: byte {offset + 1} of the text is NUL, so it isn't text. Upload a CSV file.",
        line=line,
        expected="a CSV file",
    )


def _first_wrong_byte(data: bytes) -> int | None:
    start = 0
    while start < len(data):
        chunk = data[start : start + CHUNK]
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            cut_by_us = error.end == len(chunk) and start + len(chunk) < len(data)
            if not (cut_by_us and error.reason == "unexpected end of data"):
                return start + error.start
            start += error.start
        else:
            start += len(chunk)
    return None
