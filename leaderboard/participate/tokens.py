"""API tokens: made, shown once, stored hashed, revoked."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from knox.models import AuthToken

from leaderboard.models import User


@dataclass(frozen=True)
class Issued:
    """A new token. `text` is shown this once; `expires_at` is None for one that never ends."""

    text: str
    expires_at: datetime | None


def issue(user: User, *, days: int | None) -> Issued:
    """Return a new token that ends after `days`, or never for None. Only its hash is kept."""
    lifetime = None if days is None else timedelta(days=days)
    record, text = AuthToken.objects.create(user, expiry=lifetime)
    return Issued(text, record.expiry)


def revoke(user: User, key: str) -> bool:
    """Invalidate this person's tokens that begin with `key`; return whether there were any."""
    deleted, _ = AuthToken.objects.filter(user=user, token_key=key).delete()
    return bool(deleted)


def revoke_all(user: User) -> None:
    """Invalidate all tokens of this person."""
    AuthToken.objects.filter(user=user).delete()
