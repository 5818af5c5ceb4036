"""API tokens: made, shown once, stored hashed, revoked."""

from datetime import timedelta

from knox.models import AuthToken

from leaderboard.models import User


def issue(user: User, *, days: int | None) -> str:
    """A new token that ends after `days`, or never for None. Only its hash is kept."""
    lifetime = None if days is None else timedelta(days=days)
    _, token = AuthToken.objects.create(user, expiry=lifetime)
    return str(token)


def revoke(user: User, key: str) -> bool:
    """Makes this person's tokens that begin with `key` invalid; whether there were any."""
    deleted, _ = AuthToken.objects.filter(user=user, token_key=key).delete()
    return bool(deleted)
