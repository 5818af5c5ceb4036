"""Inviting people to a competition, by mail address or user name."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Lower
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, Invitee, MailState, User
from leaderboard.notify import events
from leaderboard.pipeline.queue import enqueue_invitations

AT_ONCE: Final = 200
NAMED: Final = 5
_ROWS_AT_ONCE: Final = 500
T = TypeVar("T")


@dataclass(frozen=True)
class Invited:
    """How many people were invited, by mail and by account, and how many had been before."""

    by_mail: int
    by_account: int
    known: int


def invite(competition: Competition, people: Collection[str], *, by: User | None) -> Invited:
    """Invite people, each by a mail address or the name of an account.

    An address gets a mail with a personal link, once the competition is open; who has an account
    and is invited by its name sees the competition at once. Raises Refused, having invited nobody,
    where one of them is neither.
    """
    given = list(dict.fromkeys(each.strip().lower() for each in people if each.strip()))
    if not given:
        raise Refused("invalid", field="people", variant="nobody_named")
    if len(given) > AT_ONCE:
        raise Refused("invalid", field="people", variant="too_many_people", limit=AT_ONCE)
    addresses = [each for each in given if "@" in each]
    if bad := [each for each in addresses if not is_address(each)]:
        raise Refused("invalid", field="people", variant="bad_addresses", names=shorten(bad))
    users = _accounts([each for each in given if "@" not in each])
    with transaction.atomic():
        locked = lock(competition, by)
        listed = listed_addresses(locked, addresses)
        new = [each for each in addresses if each not in listed]
        rows = add_invitees(locked, [Invitee(competition=locked, email=each) for each in new])
        ask_for_mails(locked, rows)
        invited = set(locked.invited.filter(pk__in=[user.pk for user in users]))
        locked.invited.add(*users)
        found = Invited(len(new), len(users) - len(invited), len(listed) + len(invited))
        if found.by_mail or found.by_account:
            told = sorted(user.uid for user in users if user not in invited)
            count = found.by_mail + found.by_account
            record(locked, by, subjects={"people": told}, people=count)
    return found


def send_again(invitee: Invitee, *, by: User | None) -> None:
    """Mail the link once more. Raises Refused where somebody has taken the invitation."""
    with transaction.atomic():
        lock(invitee.competition, by)
        row = Invitee.objects.select_for_update(no_key=True).get(pk=invitee.pk)
        if row.user_id is not None:
            raise Refused("invitation_used", variant="mail")
        ask_for_mails(invitee.competition, [row])
        record(invitee.competition, by, again=1)


def withdraw(invitee: Invitee, *, by: User | None) -> None:
    """Take an invitation back, with its link; who has joined stays in the team."""
    with transaction.atomic():
        locked = lock(invitee.competition, by)
        row = Invitee.objects.filter(pk=invitee.pk).first()
        if row is not None:
            if row.user_id is not None:
                locked.invited.remove(row.user_id)
            row.delete()
            record(locked, by, withdrawn=1)


def withdraw_account(competition: Competition, user: User, *, by: User | None) -> None:
    """Take the invitation of an account back; who has joined stays in the team."""
    with transaction.atomic():
        locked = lock(competition, by)
        if locked.invited.filter(pk=user.pk).exists():
            locked.invited.remove(user)
            locked.invitees.filter(user=user).delete()
            record(locked, by, withdrawn=1)


def lock(competition: Competition, by: User | None) -> Competition:
    """Return the competition, locked, for somebody who sees to its people."""
    locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
    check_right(by, locked, Right.JUDGE)
    return locked


def listed_addresses(competition: Competition, addresses: Sequence[str]) -> dict[str, Invitee]:
    """Return who of the addresses, in lower case, is on the list already."""
    rows = competition.invitees.annotate(lowered=Lower("email"))
    found = dict[str, Invitee]()
    for part in _parts(addresses, _ROWS_AT_ONCE):
        found |= {row.email.lower(): row for row in rows.filter(lowered__in=part)}
    return found


def add_invitees(competition: Competition, rows: list[Invitee]) -> list[Invitee]:
    """Write people to the list."""
    return Invitee.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)


def ask_for_mails(competition: Competition, invitees: Collection[Invitee]) -> None:
    """Let workers mail the links once this is committed; before the opening they wait for it."""
    now = timezone.now()
    for part in _parts([each.pk for each in invitees], _ROWS_AT_ONCE):
        Invitee.objects.filter(pk__in=part).update(mail=MailState.QUEUED, mail_at=now)
    transaction.on_commit(partial(enqueue_invitations, competition.pk), robust=True)


def record(competition: Competition, by: User | None, **facts: Any) -> None:
    """Record what was done to the list, in numbers: events tell no names and addresses.

    Accounts are told of their invitation, so they are the event's subjects by permanent ids.
    """
    events.record(competition, EventKind.INVITED, actor=by, audience=Audience.ORGANIZERS, **facts)


def is_address(text: str) -> bool:
    """Return whether a text is a mail address that the list can hold."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254


def shorten(names: Collection[str]) -> str:
    """Return some of the names, and how many more there are."""
    shown = [each[:60] for each in list(names)[:NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _parts(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (rows[first : first + size] for first in range(0, len(rows), size))


def _accounts(names: Collection[str]) -> list[User]:
    lowered = User.objects.annotate(lowered=Lower("username")).filter(lowered__in=names)
    found = {user.username.lower(): user for user in lowered}
    if unknown := [each for each in names if each not in found]:
        raise Refused("invalid", field="people", variant="no_such_accounts", names=shorten(unknown))
    return list(found.values())
