"""Whom a competition takes: by invitation, by its join code, by the domain of a mail address."""

from secrets import compare_digest

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import transaction

from leaderboard.access import has_allowed_address
from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, Invitee, User
from leaderboard.notify import events


def check_admitted(competition: Competition, user: User) -> None:
    """Raise Refused where this site or the organizers ask for more than the person has shown.

    Whoever was invited in person, or has given the join code, needs neither code nor domain.
    """
    if settings.CONFIRM_TO_JOIN and not _has_confirmed(user):
        raise Refused("email_not_verified", variant="joining")
    if is_invited(competition, user):
        return
    if competition.join_code:
        raise Refused("not_admitted", variant="code", slug=competition.slug)
    _check_address(competition, user)


def needs_code(competition: Competition, user: User) -> bool:
    """Return whether the person has to give the join code before anything else."""
    return bool(competition.join_code) and not is_invited(competition, user)


def enter_code(*, competition: Competition, user: User, code: str) -> None:
    """Let a person in who knows the join code and has an address that may join. Raises Refused."""
    given = plain_code(code)
    with transaction.atomic():
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        known = plain_code(locked.join_code)
        if not known or not compare_digest(given.encode(), known.encode()):
            raise Refused("invalid", field="code", variant="wrong_code")
        _check_address(locked, user)
        _admit(locked, user, by="code")


def accept(*, invitee: Invitee, user: User) -> None:
    """Let the person in whom a mail invited, with the address that it went to. Raises Refused.

    The link came to that address alone, so whoever opens it has confirmed the address, unless
    somebody else had before.
    """
    address = EmailAddress.objects.filter(user=user, email__iexact=invitee.email).first()
    if user.email.lower() != invitee.email.lower() and address is None:
        raise Refused("not_admitted", variant="address")
    competition = invitee.competition
    with transaction.atomic():
        is_confirmed = address is not None and address.set_verified()
        if settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not is_confirmed:
            raise Refused("not_admitted", variant="unconfirmed")
        row = Invitee.objects.select_for_update(no_key=True).get(pk=invitee.pk)
        if row.user_id not in (None, user.pk):
            raise Refused("not_admitted", variant="taken")
        # A person with two addresses may have been invited twice.
        if row.user_id is None and not competition.invitees.filter(user=user).exists():
            row.user = user
            row.save(update_fields=["user"])
        _admit(competition, user, by="mail")


def alias_of(competition: Competition, user: User) -> str:
    """Return the name under which organizers want the person to take part; empty for none."""
    found = competition.invitees.filter(user=user).values_list("alias", flat=True).first()
    return found or ""


def is_reserved(competition: Competition, name: str, user: User) -> bool:
    """Return whether a team's name is the alias of somebody else."""
    return competition.invitees.filter(alias__iexact=name).exclude(user=user).exists()


def is_invited(competition: Competition, user: User) -> bool:
    """Return whether the person was let in, by whatever way."""
    return user.invited_to_competitions.filter(pk=competition.pk).exists()


def plain_code(code: str) -> str:
    """Return a join code as it is compared: without case, spaces and hyphens."""
    return "".join(code.split()).replace("-", "").upper()


def _has_confirmed(user: User) -> bool:
    """Return whether an address is confirmed; of baselines, which nobody signs in as, none is."""
    is_somebody = (
        user.has_usable_password()
        or bool(user.email)
        or SocialAccount.objects.filter(user=user).exists()
    )
    confirmed = EmailAddress.objects.filter(user=user, verified=True)
    return not is_somebody or bool(confirmed.exists())


def _admit(competition: Competition, user: User, *, by: str) -> None:
    if not is_invited(competition, user):
        competition.invited.add(user)
        events.record(
            competition,
            EventKind.INVITED,
            actor=user,
            audience=Audience.ORGANIZERS,
            subjects={"person": user.uid},
            by=by,
        )


def _check_address(competition: Competition, user: User) -> None:
    if not has_allowed_address(user, competition):
        domains = competition.mail_domains.values_list("domain", flat=True)
        raise Refused("not_admitted", variant="domain", domains=", ".join(domains))
