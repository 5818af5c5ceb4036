"""Who runs a competition, and in which role."""

from typing import Any

from allauth.account.models import EmailAddress
from django.db import transaction

from leaderboard.access import Right, check_right, ever_took_part
from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, Organizer, Role, User
from leaderboard.notify.events import record
from leaderboard.organize.changes import changed


def may_organize_at_all(user: object) -> bool:
    """Return whether an operator has let the person create competitions and run them."""
    return isinstance(user, User) and user.is_active and (user.is_superuser or user.is_organizer)


def add_organizer(competition: Competition, user: User, role: str, by: User) -> None:
    """Let the person run the competition in a role, or in another one than before.

    Raises Refused where `by` is no owner, the person lacks the organizer's role on this site or is
    or was in a team of the competition, or no owner would be left.
    """
    if role not in Role.values:
        raise Refused(
            "invalid", field="role", variant="role_unknown", choices=", ".join(Role.values)
        )
    if not (user.is_organizer or user.is_superuser):
        raise Refused("invalid", field="organizers", variant="not_organizers", names=user.username)
    with transaction.atomic():
        locked = _lock_as_owner(competition, by)
        if role != Role.OWNER:
            _check_another_owner(locked, user)
        if ever_took_part(user, locked):
            raise Refused("invalid", field="organizers", variant="takes_part", names=user.username)
        held = dict(locked.roles.filter(user=user).values_list("user", "role"))
        Organizer.objects.update_or_create(competition=locked, user=user, defaults={"role": role})
        before = {"role": held[user.pk]} if held else {}
        _record(locked, EventKind.ORGANIZER_ADDED, by, user, **changed(before, {"role": role}))


def remove_organizer(competition: Competition, user: User, by: User) -> None:
    """Take the competition from a person.

    Raises Refused where `by` is no owner, it is the person's own, or it is the last owner's.
    """
    if user == by and not by.is_superuser:
        raise Refused("invalid", field="organizers", variant="removes_oneself")
    with transaction.atomic():
        locked = _lock_as_owner(competition, by)
        _check_another_owner(locked, user)
        removed, _ = locked.roles.filter(user=user).delete()
        if removed:
            _record(locked, EventKind.ORGANIZER_REMOVED, by, user)


def find_account(name: str) -> User:
    """Return the account with this user name or confirmed mail address. Raises Refused."""
    name = name.strip()
    account = User.objects.filter(username__iexact=name, is_active=True).first()
    if account is None and "@" in name:
        known = EmailAddress.objects.filter(email__iexact=name, verified=True)
        account = User.objects.filter(emailaddress__in=known, is_active=True).first()
    if account is None:
        raise Refused("invalid", field="account", variant="no_such_account")
    return account


def _lock_as_owner(competition: Competition, by: User) -> Competition:
    """Return the competition, locked: two owners can't remove each other at the same time."""
    locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    check_right(by, locked, Right.OWN)
    return locked


def _check_another_owner(competition: Competition, user: User) -> None:
    """Raise Refused where the person is the only owner."""
    owners = set(competition.roles.filter(role=Role.OWNER).values_list("user", flat=True))
    if owners == {user.pk}:
        raise Refused("invalid", field="organizers", variant="last_owner")


def _record(competition: Competition, kind: EventKind, by: User, user: User, **data: Any) -> None:
    subjects = {"person": user.uid}
    record(competition, kind, actor=by, audience=Audience.ORGANIZERS, subjects=subjects, **data)
