"""Who runs a competition and in which role, and who is invited to it."""

from collections.abc import Collection
from typing import Any

from django.db import transaction

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, Organizer, Role, User
from leaderboard.notify.events import record
from leaderboard.organize.changes import changed


def may_organize_at_all(user: object) -> bool:
    """Return whether an operator has let the person create competitions and run them."""
    return isinstance(user, User) and user.is_active and (user.is_superuser or user.is_organizer)


def add_organizer(competition: Competition, user: User, role: str, by: User) -> None:
    """Let the person run the competition in a role, or in another one than before.

    Raises Refused where `by` is no owner, the person lacks the organizer's role on this site, or
    no owner would be left.
    """
    if role not in Role.values:
        raise Refused(
            "invalid", field="role", variant="role_unknown", choices=", ".join(Role.values)
        )
    _check_may_be_organizers([user])
    with transaction.atomic():
        locked = _lock_as_owner(competition, by)
        if role != Role.OWNER:
            _check_another_owner(locked, user)
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


def change_organizers(competition: Competition, users: Collection[User], by: User) -> None:
    """Let these people and nobody else run the competition; those who are new are owners.

    Raises Refused as `add_organizer` and `remove_organizer` do, having changed nothing.
    """
    before = set(competition.organizers.all())
    new = [user for user in users if user not in before]
    _check_may_be_organizers(new)
    with transaction.atomic():
        for user in new:
            add_organizer(competition, user, Role.OWNER, by)
        for user in before.difference(users):
            remove_organizer(competition, user, by)


def change_invited(competition: Competition, users: Collection[User], by: User) -> None:
    """Invite these people and nobody else. Raises Refused unless `by` sees to people here."""
    before = set(competition.invited.all())
    if set(users) == before:
        return
    check_right(by, competition, Right.JUDGE)
    with transaction.atomic():
        competition.invited.set(users)
        record(
            competition,
            EventKind.INVITED,
            actor=by,
            audience=Audience.ORGANIZERS,
            added=sorted(user.username for user in set(users) - before),
            removed=sorted(user.username for user in before.difference(users)),
        )


def _check_may_be_organizers(users: Collection[User]) -> None:
    without = [user.username for user in users if not (user.is_organizer or user.is_superuser)]
    if without:
        raise Refused(
            "invalid", field="organizers", variant="not_organizers", names=", ".join(without)
        )


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
