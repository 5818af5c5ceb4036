"""Answers that are files, the same from the pages and from the API."""

from collections.abc import Iterable

from django.http import StreamingHttpResponse

JSON_LINES = "application/jsonl"


def jsonl_response(parts: Iterable[bytes], name: str) -> StreamingHttpResponse:
    """JSON Lines under a file name, sent as they are read."""
    return StreamingHttpResponse(
        parts,
        content_type=JSON_LINES,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
