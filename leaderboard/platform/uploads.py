"""Refuse a request whose body is too large, whatever else it is."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from leaderboard.errors import Refused
from leaderboard.platform.outages import refuse

FORM_OVERHEAD_BYTES = 64 * 1024
PREDICTIONS = re.compile(r"/c/[^/]+/submit/|/api/v1/competitions/[^/]+/submissions/")


def body_limit() -> int:
    """Return the size of the largest body that is taken."""
    return settings.MAX_UPLOAD_BYTES + FORM_OVERHEAD_BYTES


def is_upload(path: str) -> bool:
    """Return whether predictions are sent there: only these may be spooled to disk."""
    return PREDICTIONS.fullmatch(path) is not None


class UploadLimitMiddleware(MiddlewareMixin):
    """Answer 413 by the announced length; WSGI never reads more of a body than was announced."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        announced = request.META.get("CONTENT_LENGTH") or "0"
        if not announced.isdigit() or int(announced) <= body_limit():
            return None
        return refuse(
            request, Refused("file_too_large", limit=settings.MAX_UPLOAD_BYTES), "refused.html"
        )
