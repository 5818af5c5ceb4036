"""Who has a second factor, and who needs one."""

from allauth.mfa.models import Authenticator
from django.conf import settings

from leaderboard.errors import Refused
from leaderboard.models import User

_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def count(user: User) -> int:
    """Return how many apps and passkeys there are; with any, a password alone opens nothing."""
    return int(Authenticator.objects.filter(user=user, type__in=_FACTORS).count())


def is_missing(user: User) -> bool:
    """Return whether the person runs something here, which needs a second factor, and has none."""
    if settings.SECOND_FACTOR != "organizers":
        return False
    runs = user.is_superuser or user.is_organizer or user.roles.exists()
    return runs and not count(user)


def check_not_missing(user: User) -> None:
    """Raise Refused where the person has to set up a second factor first."""
    if is_missing(user):
        raise Refused("second_factor_missing")
