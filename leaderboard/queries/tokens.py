"""A person's API tokens."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from knox.models import AuthToken

from leaderboard.models import User


@dataclass(frozen=True)
class ApiToken:
    """A valid token, known by its first characters."""

    key: str
    created_at: datetime
    expires_at: datetime | None


def api_tokens(user: User) -> list[ApiToken]:
    """Return the person's valid API tokens, newest first."""
    valid = AuthToken.objects.filter(user=user).exclude(expiry__lte=timezone.now())
    return [
        ApiToken(each.token_key, each.created, each.expiry) for each in valid.order_by("-created")
    ]
