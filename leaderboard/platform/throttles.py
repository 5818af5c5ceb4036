"""The limit on uploads, which pages and API share; the counters live in the cache."""

from typing import Any

from django.http import HttpRequest
from rest_framework.throttling import UserRateThrottle

from leaderboard.errors import Refused


class UploadThrottle(UserRateThrottle):
    """Uploads of one person, whatever becomes of them: those that take no quota as well."""

    scope = "upload"

    def allow_request(self, request: Any, view: Any) -> bool:
        return request.method != "POST" or super().allow_request(request, view)


def check_upload(request: HttpRequest) -> None:
    """Count an upload by a form. Raises Refused where there were too many."""
    throttle = UploadThrottle()
    if not throttle.allow_request(request, None):
        raise Refused("throttled", seconds=max(1, int(throttle.wait() or 1)))
