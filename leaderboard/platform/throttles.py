"""Limits on what pages take; the counters live in the cache. That of uploads the API shares."""

import time
from collections import Counter
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest
from rest_framework.throttling import SimpleRateThrottle, UserRateThrottle
from rest_framework.views import APIView

from leaderboard.errors import Refused


class UploadThrottle(UserRateThrottle):
    """Uploads of one person, whatever becomes of them: those that take no quota as well."""

    scope = "upload"

    def allow_request(self, request: Any, view: Any) -> bool:
        return request.method != "POST" or super().allow_request(request, view)


class _BySecond:
    """The cache, where a history of whole seconds is how many there were in each.

    It is read and signed at every upload, and hundreds may come from one address in a minute.
    """

    def get(self, key: str, default: list[int]) -> list[int]:
        counted = cache.get(key, ())
        return [second for second, count in counted for _ in range(count)] or default

    def set(self, key: str, history: list[int], seconds: int) -> None:
        cache.set(key, list(Counter(history).items()), seconds)


class UploadAddressThrottle(SimpleRateThrottle):
    """Uploads from one address, of however many accounts; a class behind one has room."""

    scope = "upload_address"
    cache = _BySecond()  # type: ignore[assignment]  # all that is asked of it
    cache_format = "throttle_%(scope)s_by_second_%(ident)s"
    timer = staticmethod(lambda: int(time.time()))

    def get_cache_key(self, request: Any, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}

    def allow_request(self, request: Any, view: Any) -> bool:
        return request.method != "POST" or super().allow_request(request, view)


class TokenThrottle(UserRateThrottle):
    """Tokens that one person makes on the page; by password the throttles of signing in count."""

    scope = "token"


class JoinCodeThrottle(UserRateThrottle):
    """Join codes that one person enters: nobody gets in by guessing."""

    scope = "join_code"


class CompareThrottle(UserRateThrottle):
    """Comparisons that one person asks for: each reads two files while somebody waits."""

    scope = "compare"


def check_upload(request: HttpRequest) -> None:
    """Count an upload by a form. Raises Refused where there were too many."""
    _check(UploadThrottle(), request)
    _check(UploadAddressThrottle(), request)


def check_token(request: HttpRequest) -> None:
    """Count a token that is made on the page. Raises Refused where there were too many."""
    _check(TokenThrottle(), request)


def check_join_code(request: HttpRequest) -> None:
    """Count a join code that is entered. Raises Refused where there were too many."""
    _check(JoinCodeThrottle(), request)


def check_compare(request: HttpRequest) -> None:
    """Count a comparison. Raises Refused where there were too many."""
    _check(CompareThrottle(), request)


def _check(throttle: SimpleRateThrottle, request: Any) -> None:
    if not throttle.allow_request(request, APIView()):
        raise Refused("throttled", seconds=max(1, int(throttle.wait() or 1)))
