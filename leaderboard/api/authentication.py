"""Tokens by knox, stored hashed; any malformed one is a 401 with a plain reason."""

from typing import Any

from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

INVALID = "The token is not valid: it has expired, was revoked, or is misspelt."


class TokenAuthentication(KnoxTokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """`Authorization: Token …`."""

    def authenticate_credentials(self, token: bytes) -> Any:
        # knox decodes as UTF-8 and asks the database, which bytes that are no token can break.
        if not token.replace(b"_", b"").isalnum():
            raise AuthenticationFailed(INVALID)
        try:
            return super().authenticate_credentials(token)
        except AuthenticationFailed:
            raise AuthenticationFailed(INVALID) from None
