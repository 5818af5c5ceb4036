"""A person's API tokens."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from knox.models import AuthToken

from leaderboard.models import Scope, TokenGrant, User
from leaderboard.participate.tokens import USUAL


@dataclass(frozen=True)
class TokenRow:
    """A token as its person knows it: by its name and its first characters."""

    key: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


def api_tokens(user: User) -> list[TokenRow]:
    """Return the person's valid API tokens, newest first."""
    valid = AuthToken.objects.filter(user=user).exclude(expiry__lte=timezone.now())
    grants = {each.token_id: each for each in TokenGrant.objects.filter(token__in=valid)}
    rows = []
    for each in valid.order_by("-created"):
        grant = grants.get(each.pk, TokenGrant(scopes=USUAL))
        scopes, used = tuple(map(Scope, grant.scopes)), grant.last_used_at
        rows.append(TokenRow(each.token_key, grant.name, scopes, each.created, each.expiry, used))
    return rows
