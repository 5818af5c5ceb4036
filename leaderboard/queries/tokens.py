"""A person's API tokens."""

from typing import Any

from django.db.models import F
from django.utils import timezone
from knox.models import AuthToken

from leaderboard.models import User


def api_tokens(user: User) -> list[dict[str, Any]]:
    """Return the person's valid API tokens, newest first, known by their first characters."""
    valid = AuthToken.objects.filter(user=user).exclude(expiry__lte=timezone.now())
    shown = {"key": F("token_key"), "created_at": F("created"), "expires_at": F("expiry")}
    return list(valid.order_by("-created").values(**shown))
