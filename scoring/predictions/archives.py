"""Expand gzip, zstd and zip, recognized by their first bytes, never further than the limits."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator

import pyarrow as pa

from scoring.errors import Problem
from scoring.predictions import logs
from scoring.predictions.limits import CHUNK, Limits, check_member
from scoring.predictions.problems import Problems, abridged, shortened

GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
# What reading a zip archive that somebody made up may raise.
BAD_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    TypeError,
    SyntaxError,
    EOFError,
    LookupError,
    OverflowError,
    RuntimeError,
    OSError,
    struct.error,
)
_EMPTY_ZIP = b"PK\x05\x06"
_GZIP_HEADER = 31  # zlib's wbits for a gzip header
_NAMES_SHOWN = 5


def expand(data: bytes, limits: Limits, problems: Problems) -> bytes:
    """Return what is in an archive; other data as it is. Fail where it is damaged or too large."""
    if data.startswith(GZIP):
        parts = _expand_gzip(data, problems)
    elif data.startswith(ZSTD):
        parts = _expand_zstd(data, problems)
    elif data.startswith((ZIP, _EMPTY_ZIP)):
        parts = _expand_zip(data, limits, problems)
    else:
        return data
    file = io.BytesIO()
    for part in parts:
        file.write(part)
        limits.check_expanded(file.tell(), len(data), problems)
    return file.getvalue()


def _expand_gzip(data: bytes, problems: Problems) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=_GZIP_HEADER)
    for start in range(0, len(data), CHUNK):
        pending = data[start : start + CHUNK]
        while pending:
            if member.eof:
                pending = pending.lstrip(b"\0")  # padding between members is allowed
                member = zlib.decompressobj(wbits=_GZIP_HEADER) if pending else member
                continue
            try:
                yield member.decompress(pending, CHUNK)
            except zlib.error:
                problems.fail(Problem("gzip_damaged"))
            pending = member.unused_data or member.unconsumed_tail
    if not member.eof:
        problems.fail(Problem("gzip_damaged", variant="cut"))


def _expand_zstd(data: bytes, problems: Problems) -> Iterator[bytes]:
    stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    try:
        while part := stream.read(CHUNK):
            yield part
    except (pa.ArrowException, OSError):
        problems.fail(Problem("zstd_damaged"))


def _expand_zip(data: bytes, limits: Limits, problems: Problems) -> Iterator[bytes]:
    """Yield the only file of a zip archive, a step at a time, or the log that it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if (lines := logs.samples_of(archive, len(data), limits, problems)) is not None:
                yield from lines
                return
            member = _only_member(archive.infolist(), problems)
            with archive.open(member) as file:
                while part := file.read(CHUNK):
                    yield part
    except BAD_ZIP:
        problems.fail(Problem("zip_damaged"))


def _only_member(members: list[zipfile.ZipInfo], problems: Problems) -> zipfile.ZipInfo:
    names = [member.filename for member in members]
    what = None
    if any(name.startswith("xl/") for name in names):
        what = "xlsx"
    elif "mimetype" in names:
        what = "OpenDocument"
    elif names and all(name.endswith(".npy") for name in names):
        what = "npz"
    if what is not None:
        problems.fail(Problem("binary_file", value=what))
    files = [
        member
        for member in members
        # Folders, and what macOS adds, are passed over.
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
        if not member.filename.endswith(".DS_Store")
    ]
    if len(files) != 1:
        names = [shortened(file.filename) for file in files]
        fields = {"count": len(names), "names": abridged(names, _NAMES_SHOWN) or None}
        problems.fail(Problem("zip_not_one_file", value=str(len(names)), **fields))
    check_member(files[0], problems)
    return files[0]
