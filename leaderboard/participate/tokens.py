"""API tokens: made, shown once, stored hashed, revoked."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from knox.models import AuthToken

from leaderboard.errors import Refused
from leaderboard.models import Scope, TokenGrant, User

USUAL: Final = (Scope.READ, Scope.SUBMIT)
NAME_LENGTH: Final = 80


@dataclass(frozen=True)
class Issued:
    """A new token. `text` is shown this once; `expires_at` is None for one that never ends."""

    text: str
    expires_at: datetime | None
    scopes: tuple[Scope, ...]


def issue(
    user: User, *, days: int | None, scopes: Collection[Scope] = USUAL, name: str = ""
) -> Issued:
    """Return a new token that ends after `days`, or never for None. Only its hash is kept."""
    lifetime = None if days is None else timedelta(days=days)
    granted = tuple(each for each in Scope if each in scopes)
    with transaction.atomic():
        record, text = AuthToken.objects.create(user, expiry=lifetime)
        TokenGrant.objects.create(token=record, name=name.strip(), scopes=list(granted))
    return Issued(text, record.expiry, granted)


def grant_of(token: AuthToken) -> TokenGrant:
    """Return name and scopes of a token; one without any reads and submits, as it always could."""
    known = TokenGrant.objects.filter(token=token).first()
    return known or TokenGrant(token=token, scopes=list(USUAL))


def check_scope(token: AuthToken, needed: Scope) -> None:
    """Raise Refused unless the token was made for this."""
    if needed not in grant_of(token).scopes:
        raise Refused("scope_missing", scope=needed.value)


def revoke(user: User, key: str) -> bool:
    """Invalidate this person's tokens that begin with `key`; return whether there were any."""
    deleted, _ = AuthToken.objects.filter(user=user, token_key=key).delete()
    return bool(deleted)


def revoke_all(user: User) -> None:
    """Invalidate all tokens of this person."""
    AuthToken.objects.filter(user=user).delete()
