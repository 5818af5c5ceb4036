"""Limits on how often; the counters live in the cache, the rates in the settings."""

import hashlib

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView


class LoginThrottle(SimpleRateThrottle):
    """Guesses of one address at one account: who makes them keeps nobody else from it."""

    scope = "login"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        name = request.data.get("username") if isinstance(request.data, dict) else None
        if not isinstance(name, str) or not name:
            return None
        ident = hashlib.sha256(
            f"{self.get_ident(request)} {name.strip().casefold()}".encode(errors="replace")
        ).hexdigest()
        return self.cache_format % {"scope": self.scope, "ident": ident}


class LoginAddressThrottle(SimpleRateThrottle):
    """Guesses from one address; a class behind one address still gets in."""

    scope = "login_address"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}
