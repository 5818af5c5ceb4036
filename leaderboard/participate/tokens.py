"""API tokens: made, shown once, stored hashed, revoked.

One that is bound to a competition is for an agent: it reads that and submits to it, and nothing
else, up to a quota, and to one campaign if it names one.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from knox.models import AuthToken
from knox.settings import CONSTANTS

from leaderboard.access import membership_of, visible_competitions
from leaderboard.errors import Refused
from leaderboard.models import (
    AccountEventKind,
    Campaign,
    Competition,
    Scope,
    TokenGrant,
    User,
)
from leaderboard.notify import account
from leaderboard.participate import campaigns
from leaderboard.participate.second_factors import check_not_missing
from leaderboard.platform.statements import prepared

# How far the moment of last use may lag behind.
USE_NOTED: Final = timedelta(minutes=10)
USUAL: Final = (Scope.READ, Scope.SUBMIT)
NAME_LENGTH: Final = 80
LARGEST_QUOTA: Final = 1_000_000


@dataclass(frozen=True)
class Issued:
    """A new token. `text` is shown this once; `expires_at` is None for one that never ends."""

    text: str
    expires_at: datetime | None
    scopes: tuple[Scope, ...]


@dataclass(frozen=True)
class Binding:
    """What a token is for, by names: one competition, there one campaign, so many submissions."""

    competition: str = ""
    campaign: str = ""
    quota: int | None = None


def issue(
    user: User,
    *,
    days: int | None,
    scopes: Collection[Scope] = USUAL,
    name: str = "",
    binding: Binding = Binding(),
) -> Issued:
    """Return a new token that ends after `days`, or never for None. Only its hash is kept.

    Raises Refused where the person lacks the second factor that this site asks organizers for, and
    for a binding to what the person doesn't have.
    """
    check_not_missing(user)
    bound = _bind(user, binding, scopes)
    lifetime = None if days is None else timedelta(days=days)
    granted = tuple(each for each in Scope if each in scopes)
    with transaction.atomic():
        record, text = AuthToken.objects.create(user, expiry=lifetime)
        grant = TokenGrant.objects.create(
            token=record, name=name.strip(), scopes=list(granted), **bound
        )
        there = f" in {binding.competition}" if binding.competition else ""
        account.record(
            user,
            AccountEventKind.TOKEN_MADE,
            f"{grant.name or 'without a name'}, for {', '.join(granted)}{there}",
        )
    return Issued(text, record.expiry, granted)


def _bind(user: User, binding: Binding, scopes: Collection[Scope]) -> dict[str, Any]:
    """Return the fields of a grant that bind it; none for a token that is not bound."""
    if not binding.competition:
        if binding.campaign or binding.quota is not None:
            raise Refused("invalid", field="competition", variant="bound_first")
        return {}
    there = visible_competitions(user).filter(slug=binding.competition).first()
    if there is None:
        name = binding.competition[:80]
        raise Refused("invalid", field="competition", variant="no_such_competition", name=name)
    if not set(scopes) <= set(USUAL):
        raise Refused("invalid", field="scopes", variant="bound_scopes")
    if binding.quota is not None and not 1 <= binding.quota <= LARGEST_QUOTA:
        raise Refused("invalid", field="quota", variant="amount_of_token", limit=LARGEST_QUOTA)
    campaign = _campaign(user, there, binding.campaign)
    return {"competition": there, "campaign": campaign, "quota": binding.quota}


def _campaign(user: User, competition: Competition, name: str) -> Campaign | None:
    membership = membership_of(user, competition)
    if name and membership is None:
        raise Refused("invalid", field="campaign", variant="no_such_campaign", name=name[:80])
    return campaigns.find(membership.team, name) if membership else None


def that_begin_like(text: str) -> list[AuthToken]:
    """Return the tokens whose first characters these are, with their people and grants."""
    return _with_key(text[: CONSTANTS.TOKEN_KEY_LENGTH])


@prepared
def _with_key(key: str) -> QuerySet[AuthToken]:
    needed = "user", "grant__competition", "grant__campaign"
    rows: QuerySet[AuthToken] = AuthToken.objects.filter(token_key=key)
    return rows.select_related(*needed)


def is_valid(token: AuthToken) -> bool:
    """Return whether a token may be used; forget those of its person that have expired, if not."""
    now = timezone.now()
    if token.expiry is not None and token.expiry < now:
        _forget_expired(token.user)
        return False
    return bool(token.user.is_active)


def grant_of(token: AuthToken) -> TokenGrant:
    """Return name and scopes of a token; one without any reads and submits, as it always could."""
    try:
        grant: TokenGrant = token.grant
    except TokenGrant.DoesNotExist:
        grant = TokenGrant(token=token, scopes=list(USUAL))
    return grant


def stored_grant(token: AuthToken) -> TokenGrant | None:
    """Return the grant that submissions name; None of a token from before there were any."""
    grant = grant_of(token)
    return None if grant._state.adding else grant


def note_use(token: AuthToken) -> None:
    """Write down that the token was used, unless that stands there since a few minutes.

    Then those of its person that have expired are forgotten, too.
    """
    grant, now = grant_of(token), timezone.now()
    if grant.last_used_at and grant.last_used_at > now - USE_NOTED:
        return
    _forget_expired(token.user)
    rows = TokenGrant.objects.filter(token=token)
    due = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED)
    if not rows.filter(due).update(last_used_at=now) and grant._state.adding:
        values = {"scopes": grant.scopes, "last_used_at": now}
        TokenGrant.objects.get_or_create(token=token, defaults=values)


def _forget_expired(user: User) -> None:
    AuthToken.objects.filter(user=user, expiry__lt=timezone.now()).delete()


def check_scope(token: AuthToken, needed: Scope) -> None:
    """Raise Refused unless the token was made for this."""
    if needed not in grant_of(token).scopes:
        raise Refused("scope_missing", scope=needed.value)


def check_bound(token: AuthToken, slug: str | None) -> None:
    """Raise Refused where a bound token asks for anything but a page of its own competition.

    slug: of the competition that is asked for, None where the address is for something else.
    """
    bound = grant_of(token).competition
    if bound is not None and slug != bound.slug:
        raise Refused("token_bound", competition=bound.slug)


def revoke(user: User, key: str) -> bool:
    """Invalidate this person's tokens that begin with `key`; return whether there were any."""
    deleted, _ = AuthToken.objects.filter(user=user, token_key=key).delete()
    return bool(deleted)


def revoke_bound(competition: Competition) -> None:
    """Invalidate the tokens that are for a competition which will be no more."""
    AuthToken.objects.filter(grant__competition=competition).delete()


def revoke_all(user: User) -> None:
    """Invalidate all tokens of this person."""
    AuthToken.objects.filter(user=user).delete()
