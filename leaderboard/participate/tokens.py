"""API tokens: made, shown once, stored hashed, revoked."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from knox.models import AuthToken

from leaderboard.errors import Refused
from leaderboard.models import Scope, TokenGrant, User
from leaderboard.participate.second_factors import check_not_missing

# How far the moment of last use may lag behind.
USE_NOTED: Final = timedelta(minutes=10)
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
    """Return a new token that ends after `days`, or never for None. Only its hash is kept.

    Raises Refused where the person lacks the second factor that this site asks organizers for.
    """
    check_not_missing(user)
    lifetime = None if days is None else timedelta(days=days)
    granted = tuple(each for each in Scope if each in scopes)
    with transaction.atomic():
        record, text = AuthToken.objects.create(user, expiry=lifetime)
        TokenGrant.objects.create(token=record, name=name.strip(), scopes=list(granted))
    return Issued(text, record.expiry, granted)


def grant_of(token: AuthToken) -> TokenGrant:
    """Return name and scopes of a token; one without any reads and submits, as it always could."""
    try:
        grant: TokenGrant = token.grant
    except TokenGrant.DoesNotExist:
        grant = TokenGrant(token=token, scopes=list(USUAL))
    return grant


def note_use(token: AuthToken) -> None:
    """Write down that the token was used, unless that stands there since a few minutes."""
    grant, now = grant_of(token), timezone.now()
    if grant.last_used_at and grant.last_used_at > now - USE_NOTED:
        return
    rows = TokenGrant.objects.filter(token=token)
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED)
    if not rows.filter(due).update(last_used_at=now) and grant._state.adding:
        values = {"scopes": grant.scopes, "last_used_at": now}
        TokenGrant.objects.get_or_create(token=token, defaults=values)


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
