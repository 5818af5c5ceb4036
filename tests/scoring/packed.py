"""Tables as the files that people upload, for tests of reading."""

import gzip
import io
import zipfile
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import parquet


def in_zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def zstd_stream(data: bytes) -> bytes:
    """Without the length in its header, as `zstd` writes from a pipe."""
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue().to_pybytes())


def in_parquet(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, **options)
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd,
    "zstd stream": zstd_stream,
    "zip": lambda data: in_zip({"predictions.csv": data}),
    "zip, stored": lambda data: in_zip({"predictions.csv": data}, zipfile.ZIP_STORED),
    "zip of macOS": lambda data: in_zip(
        {"day/": b"", "day/a.csv": data, "__MACOSX/day/._a.csv": b"\0"}
    ),
}
