"""Downloads, the same from the pages and from the API."""

from collections.abc import Iterable

from django.http import StreamingHttpResponse

JSON_LINES = "application/jsonl"
CSV = "text/csv; charset=utf-8"


def jsonl_response(parts: Iterable[bytes], name: str) -> StreamingHttpResponse:
    """Send JSON Lines under a file name, as they are read."""
    return _download(parts, name, JSON_LINES)


def csv_response(parts: Iterable[bytes], name: str) -> StreamingHttpResponse:
    """Send CSV under a file name, as it is read."""
    return _download(parts, name, CSV)


def json_response(parts: Iterable[bytes], name: str) -> StreamingHttpResponse:
    """Send a JSON document under a file name, as it is read."""
    return _download(parts, name, "application/json")


def _download(parts: Iterable[bytes], name: str, content_type: str) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        parts,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
