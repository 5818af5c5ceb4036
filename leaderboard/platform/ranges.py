"""Files as answers: with a checksum as ETag, and in parts for a download that goes on."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import IO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase, HttpResponseNotModified
from django.utils.http import content_disposition_header, parse_etags

from leaderboard.errors import Refused

CHUNK = 1 << 16
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def file_response(
    headers: dict[str, str], file: "File[bytes]", *, name: str, size: int, sha256: str
) -> HttpResponseBase:
    """Return the file, or the one part of it that the request's Range header asks for (RFC 9110,
    14.2). Object storage that browsers can reach sends it itself.

    `headers` are the request's. Several parts at once, or a part of a version that is no more
    (If-Range), are answered with the whole. Refused (416) if there is no such part.
    """
    etag = f'"{sha256}"'
    response: HttpResponseBase = HttpResponseNotModified()
    if etag not in parse_etags(headers.get("If-None-Match", "")):
        part = _part(headers, size, etag)
        # Programs send a token, which no other server is to get.
        address = "" if "Authorization" in headers else _address(file, name)
        if address:
            # The storage sends the part that is asked for: whoever follows asks it the same.
            response = HttpResponseRedirect(address)
            response["Cache-Control"] = "private, no-store"
            return response
        first, last = part or (0, size - 1)
        response = _content(file, first, last - first + 1, whole=part is None)
        if part is not None:
            response.status_code = HTTPStatus.PARTIAL_CONTENT
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
    response.headers.setdefault("Cache-Control", "private, no-cache")
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


def _address(file: "File[bytes]", name: str) -> str:
    """Return where object storage gives the file for some minutes, if browsers can reach it."""
    sign = getattr(default_storage, "signed", None)
    return str(sign(file.name, content_disposition_header(True, name))) if sign else ""


def _content(file: "File[bytes]", first: int, count: int, *, whole: bool) -> StreamingHttpResponse:
    """Return the part; what object storage refuses is refused before the answer begins."""
    if part := getattr(default_storage, "part", None):
        return StreamingHttpResponse(part(file.name, first, count))
    file.open("rb")
    return FileResponse(file) if whole else StreamingHttpResponse(_slice(file, first, count))


def _slice(file: "File[bytes] | IO[bytes]", first: int, count: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        while count > 0 and (chunk := file.read(min(CHUNK, count))):
            count -= len(chunk)
            yield chunk
