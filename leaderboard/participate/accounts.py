"""What ends an account, or what protects it."""

import secrets
from functools import partial
from operator import itemgetter
from typing import Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.log import leaves
from leaderboard.models import (
    AccountEventKind,
    Audience,
    Competition,
    Delivery,
    Event,
    EventKind,
    Invitation,
    Mailbox,
    Membership,
    Organizer,
    Role,
    Team,
    User,
)
from leaderboard.notify import account, events
from leaderboard.participate import membership, sessions, tokens
from leaderboard.participate.admission import alias_of

_NAMING: Final = (EventKind.TEAM_CREATED, EventKind.TEAM_RENAMED)


def reset_second_factors(user: User, *, reason: str) -> int:
    """Remove all second factors, for an operator who knows the person; return how many there were.

    Whoever held one may hold a session or a token as well: all of them end.
    """
    with transaction.atomic():
        removed, _ = Authenticator.objects.filter(user=user).delete()
        tokens.revoke_all(user)
        sessions.end_all(user)
        account.record(user, AccountEventKind.FACTORS_RESET, reason)
    return int(removed)


def delete(user: User) -> None:
    """Delete an account for good: what names the person goes, what others rely on stays.

    Submissions, answers, entries of ledgers and places on boards stay, under a name like "deleted
    user 1a2b3c4d", and so do the files, which finals and verification need. A team of others goes
    on with its longest member as captain; a team of this person alone takes such a name, too.
    Lists of people that organizers wrote stay theirs. Raises Refused.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user.pk)
        check_may_delete(user)
        teams = Team.objects.filter(memberships__in=user.memberships.active())
        steps = [(each.competition_id, partial(_leave, each, user)) for each in teams]
        roles = user.roles.select_related("competition")
        steps += [(each.competition_id, partial(_give_up, each, user)) for each in roles]
        steps += [(each.competition_id, partial(_forget_team, each)) for each in _teams_of(user)]
        # Events lock a competition's count: in one order, so that no two can block each other.
        for _, step in sorted(steps, key=itemgetter(0)):
            step()
        _forget(user)


def check_may_delete(user: User) -> None:
    """Raise Refused where the site or a competition would be left without anybody."""
    if user.is_superuser:
        raise Refused("account_stays", variant="operator")
    left = _owned_alone(user)
    if left:
        raise Refused("account_stays", names=", ".join(each.title for each in left))


def _owned_alone(user: User) -> QuerySet[Competition]:
    owned = user.roles.filter(role=Role.OWNER).values("competition")
    shared = Organizer.objects.filter(role=Role.OWNER).exclude(user=user).values("competition")
    return Competition.objects.filter(pk__in=owned).exclude(pk__in=shared)


def _leave(team: Team, user: User) -> None:
    """Leave, also as the last member; of a captain with others, the longest one takes over."""
    team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    others = Membership.objects.active().filter(team=team).exclude(user=user)
    heir = others.order_by("accepted_at", "pk").first()
    if team.captain_id == user.pk and heir is not None:
        Team.objects.filter(pk=team.pk).update(captain=heir.user)
    membership.end_membership(team, user)


def _give_up(role: Organizer, user: User) -> None:
    role.delete()
    events.record(
        role.competition,
        EventKind.ORGANIZER_REMOVED,
        actor=user,
        audience=Audience.ORGANIZERS,
        subjects={"person": user.uid},
    )


def _teams_of(user: User) -> list[Team]:
    """Return the teams that are this person's alone."""
    alone = Team.objects.filter(captain=user, is_baseline=False)
    alone = alone.exclude(memberships__in=Membership.objects.exclude(user=user))
    return list(alone.select_related("competition", "captain"))


def _forget_team(team: Team) -> None:
    """Rename a team whose only person goes, unless organizers gave the name.

    The log has the new name, and nobody can open any more what it has of those before.
    """
    team.submissions.update(message="")
    for campaign in team.campaigns.all():
        campaign.name = f"deleted-{campaign.uid[:8]}"
        campaign.save(update_fields=["name"])
    if alias_of(team.competition, team.captain):
        return
    team.name = _deleted_name()
    team.save(update_fields=["name"])
    named = Event.objects.filter(competition=team.competition, subjects__team=team.uid)
    named.filter(kind__in=_NAMING).update(data={"name": team.name})
    events.log(team.competition, leaves.team(team), forget=True)


def _forget(user: User) -> None:
    for model in (Authenticator, EmailAddress, Mailbox, SocialAccount):
        model.objects.filter(user=user).delete()
    user.notices.all().delete()
    Delivery.objects.filter(recipient=user).delete()
    Invitation.objects.filter(created_by=user).delete()
    Invitation.objects.filter(user=user).update(email="")
    for staged in user.staged_files.all():
        transaction.on_commit(partial(default_storage.delete, str(staged.file)))
        staged.delete()
    user.preferences.all().delete()
    user.invited_to_competitions.clear()
    user.groups.clear()
    user.user_permissions.clear()
    user.events.all().delete()
    user.events.create(kind=AccountEventKind.DELETED)
    tokens.revoke_all(user)
    sessions.end_all(user)
    user.username, user.email = _deleted_name(), ""
    user.first_name = user.last_name = ""
    user.is_active = user.is_organizer = user.is_staff = False
    user.last_login, user.deleted_at = None, timezone.now()
    user.set_unusable_password()
    user.save()


def _deleted_name() -> str:
    # Nobody can have this name or guess which one will be taken: no user name has a space.
    return f"deleted user {secrets.token_hex(4)}"


def set_page(user: User, *, is_shown: bool) -> None:
    """Show the person's page to others, or to nobody."""
    User.objects.filter(pk=user.pk).update(has_page=is_shown)
    user.has_page = is_shown
