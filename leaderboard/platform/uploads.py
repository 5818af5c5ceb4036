"""Bodies: refuse one that is too large, and keep in memory what must not touch a disk."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from leaderboard.errors import Refused
from leaderboard.platform.outages import refuse

FORM_OVERHEAD_BYTES = 64 * 1024
# Where our web server leaves when the whole head of a request was there; no header can set it.
HEAD_ARRIVED = "holdfast.head_arrived"
PREDICTIONS = re.compile(r"/c/[^/]+/submit/|/api/v1/competitions/[^/]+/submissions/")
PUBLIC_DATA = re.compile(r"/organize/new/files/")


def upload_limit(path: str) -> int:
    """Return the size of the largest file that is taken there."""
    return settings.MAX_DATA_BYTES if PUBLIC_DATA.fullmatch(path) else settings.MAX_UPLOAD_BYTES


def body_limit(path: str = "") -> int:
    """Return the size of the largest body that is taken there."""
    return upload_limit(path) + FORM_OVERHEAD_BYTES


def is_upload(path: str) -> bool:
    """Return whether predictions or public data are sent there: only these may go to the disk."""
    return any(each.fullmatch(path) is not None for each in (PREDICTIONS, PUBLIC_DATA))


def head_arrived(environ: Mapping[str, Any]) -> datetime | None:
    """Return when the head of a request arrived; None where the web server doesn't say."""
    moment = environ.get(HEAD_ARRIVED)
    return None if moment is None else datetime.fromtimestamp(moment, UTC)


class UploadLimitMiddleware(MiddlewareMixin):
    """Answer 413 by the announced length; WSGI never reads more of a body than was announced."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        announced = request.META.get("CONTENT_LENGTH") or "0"
        if not announced.isdigit() or int(announced) <= body_limit(request.path):
            return None
        limit = upload_limit(request.path)
        return refuse(request, Refused("file_too_large", limit=limit), "refused.html")


class InMemoryOnly(MemoryFileUploadHandler):
    """Keep an upload in memory whatever its size: plain labels never touch a disk.

    The size is bounded by the limit of all uploads, which is checked before the body is read.
    """

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803  (Django's name)
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        self.activated = True
