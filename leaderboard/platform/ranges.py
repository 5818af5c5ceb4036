"""Files as answers: with a checksum as ETag, and in parts for a download that goes on."""

import re
from collections.abc import Iterator
from typing import IO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase, HttpResponseNotModified
from django.utils.http import content_disposition_header, parse_etags

from leaderboard.errors import Refused

CHUNK = 1 << 16
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def file_response(
    headers: dict[str, str], file: "File[bytes]", *, name: str, size: int, sha256: str
) -> HttpResponseBase:
    """Return the file, or the one part of it that the request's Range header asks for (RFC 9110,
    14.2).

    `headers` are the request's. Several parts at once, or a part of a version that is no more
    (If-Range), are answered with the whole. Refused (416) if there is no such part.
    """
    etag = f'"{sha256}"'
    response: HttpResponseBase = HttpResponseNotModified()
    if etag not in parse_etags(headers.get("If-None-Match", "")):
        part = _part(headers, size, etag)
        file.open("rb")  # what object storage refuses is refused before the answer begins
        first, last = part or (0, size - 1)
        if part is None:
            response = FileResponse(file)
        else:
            response = StreamingHttpResponse(_slice(file, first, last - first + 1), status=206)
            response["Content-Range"] = f"bytes {first}-{last}/{size}"
        response["Content-Type"] = "application/octet-stream"
        response["Content-Length"] = str(last - first + 1)
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


def stored_response(
    headers: dict[str, str], stored: str, *, name: str, size: int, sha256: str
) -> HttpResponseBase:
    """Return a file of the storage by its name there, as `file_response` does.

    Http404 where it was lost.
    """
    if not stored:
        raise Http404("The file was lost with a database.")
    try:
        file = default_storage.open(stored, "rb")
        response = file_response(headers, file, name=name, size=size, sha256=sha256)
    except FileNotFoundError as error:
        raise Http404("The file was lost from the storage.") from error
    response["Cache-Control"] = "private, no-cache"
    return response


def _part(headers: dict[str, str], size: int, etag: str) -> tuple[int, int] | None:
    """First and last byte that are asked for; None for the whole."""
    asked = RANGE.fullmatch(headers.get("Range", "").replace(" ", ""))
    if asked is None or headers.get("If-Range", etag) != etag:
        return None
    start, end = asked.groups()
    if not start and not end:
        return None
    first = int(start) if start else max(0, size - int(end))
    last = min(int(end), size - 1) if start and end else size - 1
    if start and end and int(end) < first:
        return None
    if first > last:
        raise Refused("range_not_satisfiable", size=size)
    return first, last


def _slice(file: "File[bytes] | IO[bytes]", first: int, count: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        while count > 0 and (chunk := file.read(min(CHUNK, count))):
            count -= len(chunk)
            yield chunk
