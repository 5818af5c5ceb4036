"""A person's API tokens."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from knox.models import AuthToken

from leaderboard.models import Scope, TokenGrant, User
from leaderboard.participate.quotas import token_left
from leaderboard.participate.tokens import USUAL


@dataclass(frozen=True)
class TokenRow:
    """A token as its person knows it: by its name and its first characters.

    One that is bound has the short name of its `competition`, perhaps that of a `campaign` there,
    and a `quota` with what is left of it.
    """

    key: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    competition: str
    campaign: str
    quota: int | None
    quota_left: int | None


def api_tokens(user: User) -> list[TokenRow]:
    """Return the person's valid API tokens, newest first."""
    valid = AuthToken.objects.filter(user=user).exclude(expiry__lte=timezone.now())
    stored = TokenGrant.objects.filter(token__in=valid).select_related("competition", "campaign")
    grants = {each.token_id: each for each in stored}
    rows = []
    for each in valid.order_by("-created"):
        grant = grants.get(each.pk, TokenGrant(scopes=USUAL))
        rows.append(
            TokenRow(
                key=each.token_key,
                name=grant.name,
                scopes=tuple(map(Scope, grant.scopes)),
                created_at=each.created,
                expires_at=each.expiry,
                last_used_at=grant.last_used_at,
                competition=grant.competition.slug if grant.competition else "",
                campaign=grant.campaign.name if grant.campaign else "",
                quota=grant.quota,
                quota_left=token_left(grant),
            )
        )
    return rows
