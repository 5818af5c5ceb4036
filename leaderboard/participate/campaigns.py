"""Campaigns: the names under which a team groups its submissions, each with a limit of its own.

Their owners begin, limit and end them, in a session or by a token that was made for it. An agent
whose token only submits can't.
"""

import re
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import Audience, Campaign, EventKind, Membership, Team, TokenGrant, User
from leaderboard.models.campaign import NAME_LENGTH
from leaderboard.notify import events

MOST: Final = 1_000  # of a team in a competition
LARGEST_LIMIT: Final = 1_000_000
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{NAME_LENGTH - 1}}}")


def begin(*, team: Team, user: User, name: str, limit: int | None = None) -> Campaign:
    """Begin a campaign, which may make so many submissions; None for no limit. Raises Refused."""
    with transaction.atomic():
        team = _lock(team, user)
        if not _NAME.fullmatch(name):
            raise Refused("invalid", field="name", variant="campaign_name", limit=NAME_LENGTH)
        _check_limit(limit)
        if team.campaigns.filter(name=name).exists():
            raise Refused("invalid", field="name", variant="campaign_taken", name=name)
        if team.campaigns.count() >= MOST:
            raise Refused("invalid", field="name", variant="too_many_campaigns", limit=MOST)
        campaign = Campaign.objects.create(
            team=team, name=name, limit=limit, created_by=user, created_at=timezone.now()
        )
        _record(campaign, user)
    return campaign


def change_limit(*, campaign: Campaign, user: User, limit: int | None) -> None:
    """Let a campaign make so many submissions in all, what it made included. Raises Refused."""
    with transaction.atomic():
        _lock(campaign.team, user)
        _check_limit(limit)
        _read_again(campaign)
        if limit != campaign.limit:
            campaign.limit = limit
            campaign.save(update_fields=["limit"])
            _record(campaign, user)


def end(*, campaign: Campaign, user: User) -> None:
    """End a campaign for good: it takes no more submissions. Raises Refused."""
    with transaction.atomic():
        _lock(campaign.team, user)
        _read_again(campaign)
        campaign.ended_at = timezone.now()
        campaign.save(update_fields=["ended_at"])
        _record(campaign, user)


def find(team: Team, name: str, grant: TokenGrant | None = None) -> Campaign | None:
    """Return the campaign that a new submission belongs to, None for none. Raises Refused.

    grant: of the token that sends it; one that is bound to a campaign sends to that alone.
    """
    bound = grant.campaign if grant else None
    if bound is not None and name not in ("", bound.name):
        raise Refused("token_bound", variant="campaign", campaign=bound.name)
    name = bound.name if bound else name
    if not name:
        return None
    found = team.campaigns.filter(name=name).first()
    if found is None or bound not in (None, found):
        raise Refused("invalid", field="campaign", variant="no_such_campaign", name=name[:80])
    _check_goes_on(found)
    return found


def _lock(team: Team, user: User) -> Team:
    """Lock the team, as intake does, and check that the person is in it."""
    team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if not Membership.objects.active().filter(team=team, user=user).exists():
        raise Refused("not_a_member")
    return team


def _read_again(campaign: Campaign) -> None:
    campaign.refresh_from_db()
    _check_goes_on(campaign)


def _check_goes_on(campaign: Campaign) -> None:
    if campaign.ended_at is not None:
        ended: datetime = campaign.ended_at
        raise Refused("campaign_ended", name=campaign.name, ended_at=ended)


def _check_limit(limit: int | None) -> None:
    if limit is not None and not 1 <= limit <= LARGEST_LIMIT:
        raise Refused("invalid", field="limit", variant="amount_of_campaign", limit=LARGEST_LIMIT)


def _record(campaign: Campaign, user: User) -> None:
    """Record it for the team. A name may say something of a person, so it is left out."""
    events.record(
        campaign.team.competition,
        EventKind.CAMPAIGN_CHANGED,
        actor=user,
        audience=Audience.TEAM,
        subjects={"team": campaign.team.uid, "campaign": campaign.uid},
        limit=campaign.limit,
        ended=campaign.ended_at is not None,
    )
