"""Expands gzip, zstd and zip, told by their first bytes, never further than the limits."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator

import pyarrow as pa

from scoring.errors import Problem
from scoring.predictions.limits import CHUNK, Limits
from scoring.predictions.problems import Problems, listed, plural

GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"

_GZIP_HEADER = 31  # zlib's wbits for a gzip header
_NAMES_SHOWN = 5
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    OSError,
    struct.error,
)


def expanded(data: bytes, limits: Limits, problems: Problems) -> bytes:
    """What is in an archive; other data as it is. Fails where the archive is damaged or too big."""
    if data.startswith(GZIP):
        parts = _gunzipped(data, problems)
    elif data.startswith(ZSTD):
        parts = _zstd(data, problems)
    elif data.startswith((ZIP, _EMPTY_ZIP)):
        parts = _unzipped(data, problems)
    else:
        return data
    file = io.BytesIO()
    for part in parts:
        file.write(part)
        if (problem := limits.broken_by(file.tell(), len(data))) is not None:
            problems.fail(problem)
    return file.getvalue()


def _gunzipped(data: bytes, problems: Problems) -> Iterator[bytes]:
    """All members of a gzip file, a step at a time."""
    member = zlib.decompressobj(wbits=_GZIP_HEADER)
    for start in range(0, len(data), CHUNK):
        pending = data[start : start + CHUNK]
        while pending:
            if member.eof:
                pending = pending.lstrip(b"\0")  # padding between members is allowed
                member = zlib.decompressobj(wbits=_GZIP_HEADER) if pending else member
                continue
            part, pending = _inflated(member, pending, problems)
            yield part
    if not member.eof:
        problems.fail(_damaged("gzip", "The gzip file is cut off."))


def _inflated(member: "zlib._Decompress", data: bytes, problems: Problems) -> tuple[bytes, bytes]:
    """A step of the text, and what is left of the data."""
    try:
        part = member.decompress(data, CHUNK)
    except zlib.error:
        problems.fail(_damaged("gzip", "The gzip file is damaged."))
    return part, member.unused_data if member.eof else member.unconsumed_tail


def _zstd(data: bytes, problems: Problems) -> Iterator[bytes]:
    """All frames of a zstd file, a step at a time."""
    stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    while True:
        try:
            part = stream.read(CHUNK)
        except (pa.ArrowException, OSError):
            problems.fail(_damaged("zstd", "The zstd file is cut off or damaged."))
        if not part:
            return
        yield part


def _unzipped(data: bytes, problems: Problems) -> Iterator[bytes]:
    """The only file of a zip archive, a step at a time."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = _only_member(archive.infolist(), problems)
            with archive.open(member) as file:
                while part := file.read(CHUNK):
                    yield part
    except _UNREADABLE:
        problems.fail(_damaged("zip", "The zip archive is cut off or damaged."))


def _only_member(members: list[zipfile.ZipInfo], problems: Problems) -> zipfile.ZipInfo:
    names = [member.filename for member in members]
    if (what := _document(names)) is not None:
        problems.fail(other_format(what))
    files = [member for member in members if not _is_clutter(member)]
    if len(files) != 1:
        problems.fail(_not_one_file([member.filename for member in files]))
    if files[0].flag_bits & 1:
        problems.fail(_damaged("zip", "The zip archive has a password."))
    if files[0].compress_type not in _METHODS:
        problems.fail(_damaged("zip", "The zip archive is compressed in an unusual way."))
    return files[0]


def _document(names: list[str]) -> str | None:
    """What else is a zip archive inside."""
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook (.xlsx)"
    if "mimetype" in names:
        return "an OpenDocument file"
    if names and all(name.endswith(".npy") for name in names):
        return "a NumPy archive (.npz)"
    return None


def _is_clutter(member: zipfile.ZipInfo) -> bool:
    """Folders, and what macOS adds."""
    name = member.filename
    return member.is_dir() or name.startswith("__MACOSX/") or name.endswith(".DS_Store")


def other_format(what: str) -> Problem:
    """A format that isn't read."""
    return Problem(
        "binary_file",
        f"This is {what}, not a CSV file. Save the table as CSV (UTF-8).",
        value=what,
        expected="a CSV file",
    )


def _not_one_file(names: list[str]) -> Problem:
    found = ""
    if names:
        more = ", …" if len(names) > _NAMES_SHOWN else ""
        found = f": {listed(names[:_NAMES_SHOWN])}{more}"
    return Problem(
        "zip_not_one_file",
        f"The zip archive has {plural(len(names), 'file')}{found}. Put one CSV file into it.",
        value=str(len(names)),
        expected="one CSV file",
    )


def _damaged(kind: str, message: str) -> Problem:
    return Problem(f"{kind}_damaged", message, expected="CSV")
