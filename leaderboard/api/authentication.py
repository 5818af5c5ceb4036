"""Tokens by knox, stored hashed, with their scopes; any malformed one is a 401 with a reason."""

from hmac import compare_digest
from typing import Any

from knox.auth import TokenAuthentication as KnoxTokenAuthentication
from knox.crypto import hash_token
from knox.models import AuthToken
from knox.settings import knox_settings
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from leaderboard.models import User
from leaderboard.participate import second_factors, tokens

INVALID = "The token is not valid: it has expired, was revoked, or is misspelt."


class TokenAuthentication(KnoxTokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """`Authorization: Token …`; `Bearer …` means the same where it is a token of ours.

    Any other header may be for a proxy in between, and leaves the session to say who asks.
    """

    def authenticate(self, request: Request) -> Any:
        scheme, _, token = get_authorization_header(request).partition(b" ")
        ours = knox_settings.TOKEN_PREFIX.encode()
        if scheme.lower() == b"bearer" and token.startswith(ours):
            return self.authenticate_credentials(token)
        return super().authenticate(request)

    def authenticate_credentials(self, token: bytes) -> tuple[User, AuthToken]:
        # The database is asked, which bytes that are no token can break.
        if not token.replace(b"_", b"").isalnum():
            raise AuthenticationFailed(INVALID)
        text = token.decode("ascii")
        digest = hash_token(text)
        for found in tokens.that_begin_like(text):
            if compare_digest(digest, found.digest) and tokens.is_valid(found):
                tokens.note_use(found)
                return found.user, found
        raise AuthenticationFailed(INVALID)


class ScopeGranted(BasePermission):
    """Let a token do what it was made for; a session does all that its person may.

    Which scope that is, a view says by `needed_scope`, and by `bound_methods` and `bound_anywhere`
    what one is for that is bound to a competition. Raises Refused, naming the scope that lacks or
    the competition that the token is for, and where somebody who runs competitions lacks the second
    factor that this site asks for.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = view.needed_scope(request.method)
        if needed is not None and isinstance(request.auth, AuthToken):
            tokens.check_scope(request.auth, needed)
            if not view.bound_anywhere:
                may = request.method in view.bound_methods
                tokens.check_bound(request.auth, view.kwargs.get("slug") if may else None)
        if needed is not None and isinstance(request.user, User):
            second_factors.check_not_missing(request.user)
        return True
