"""Who is named in an archive: the accounts of its rows, and marks of who ran the competition."""

import secrets
from typing import TYPE_CHECKING, Any, cast

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q

from leaderboard.access import marks_of
from leaderboard.models import Competition, Event, EventKind, User

if TYPE_CHECKING:
    from django.db.models import Field


def people_of(competition: Competition) -> list[User]:
    """Return those whom rows name: members, captains, and who submitted."""
    found = set(competition.memberships.values_list("user", flat=True))
    found |= set(competition.teams.values_list("captain", flat=True))
    teams = competition.teams.all()
    found |= set(teams.values_list("submissions__user", flat=True))
    return list(User.objects.filter(pk__in=found - {None}).order_by("pk"))


def marks(competition: Competition) -> list[str]:
    """Return the marks of all who run the competition, or ever did, here or where it was before."""
    added = Event.objects.filter(competition=competition, kind=EventKind.ORGANIZER_ADDED)
    subjects = list(added.values_list("subjects", flat=True))
    uids = {each["person"] for each in subjects if "person" in each}
    ever = User.objects.filter(Q(uid__in=uids) | Q(roles__competition=competition)).distinct()
    found = {each["mark"] for each in subjects if isinstance(each.get("mark"), str)}
    return sorted(found.union(*(marks_of(each, competition) for each in ever)))


def person_row(person: User, named: bool) -> dict[str, Any]:
    """Return what an archive tells of a person: its key, and who it is if `named`."""
    told = {"username": person.username, "email": person.email} if named else {}
    return {"id": person.pk, **told}


def make_people(rows: list[dict[str, Any]], only: User | None) -> dict[int, User]:
    """Return an account for each person; who has confirmed the address is taken, others are made.

    Nobody can sign in to those: who has the address asks for a new password. Without names they
    are locked, and so are those whose address somebody else has typed in here.

    only: the one person who is known by name and address, if any; else everybody is.
    """
    own = EmailAddress.objects.filter(user=only, verified=True) if only else None
    found = dict[int, User]()
    for row in rows:
        email, username = (_valid(name, row.get(name)) for name in ("email", "username"))
        if own is not None and not own.filter(email__iexact=email).exists():
            email = username = ""
        confirmed = EmailAddress.objects.filter(email__iexact=email, verified=True)
        known = User.objects.filter(emailaddress__in=confirmed).first() if email else None
        if known is None:
            if User.objects.filter(email__iexact=email).exists():
                email = ""
            is_free = not User.objects.filter(username__iexact=username).exists()
            reserved = settings.ACCOUNT_USERNAME_BLACKLIST
            may_have = username and is_free and username.lower() not in reserved
            name = username if may_have else f"archived-{secrets.token_hex(6)}"
            known = User(username=name, email=email, is_active=bool(email))
            known.set_unusable_password()
            known.save()
        found[row["id"]] = known
    return found


def _valid(name: str, value: object) -> str:
    """Return a name or an address that an account can have; empty for any other."""
    try:
        return str(cast("Field[Any, Any]", User._meta.get_field(name)).clean(value, None))
    except ValidationError:
        return ""
