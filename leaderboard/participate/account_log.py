"""Note what changes how a person signs in. Imported once, for the signals of allauth."""

from typing import Any

from allauth.account import signals as of_accounts
from allauth.mfa import signals as of_factors
from allauth.mfa.models import Authenticator
from allauth.socialaccount import signals as of_providers
from django.dispatch import receiver
from django.http import HttpRequest

from leaderboard.models import AccountEventKind, User
from leaderboard.notify import account
from leaderboard.participate import second_factors, sessions


@receiver(of_factors.authenticator_added)
def note_added_factor(
    request: HttpRequest, user: User, authenticator: Authenticator, **kwargs: Any
) -> None:
    """Note a new factor. The first one ends other sessions, which began without any."""
    account.record(user, AccountEventKind.FACTOR_ADDED, _name(authenticator))
    is_factor = authenticator.type != Authenticator.Type.RECOVERY_CODES
    if is_factor and second_factors.count(user) == 1:
        sessions.end_others(request, user)


@receiver(of_factors.authenticator_removed)
def note_removed_factor(user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    """Note that a factor is gone."""
    account.record(user, AccountEventKind.FACTOR_REMOVED, _name(authenticator))


@receiver(of_factors.authenticator_reset)
def note_new_codes(user: User, **kwargs: Any) -> None:
    """Note new recovery codes, which end the old ones."""
    account.record(user, AccountEventKind.CODES_RENEWED)


@receiver((of_accounts.password_changed, of_accounts.password_set, of_accounts.password_reset))
def note_password(user: User, **kwargs: Any) -> None:
    """Note a new password."""
    account.record(user, AccountEventKind.PASSWORD_CHANGED)


@receiver(of_providers.social_account_added)
def note_added_provider(sociallogin: Any, **kwargs: Any) -> None:
    """Note a new way to sign in."""
    _note_provider(sociallogin.account, AccountEventKind.PROVIDER_ADDED)


@receiver(of_providers.social_account_removed)
def note_removed_provider(socialaccount: Any, **kwargs: Any) -> None:
    """Note that a way to sign in is gone."""
    _note_provider(socialaccount, AccountEventKind.PROVIDER_REMOVED)


def _name(authenticator: Authenticator) -> str:
    is_app = authenticator.type == Authenticator.Type.TOTP
    return "Authenticator app" if is_app else str(authenticator)


def _note_provider(connected: Any, kind: AccountEventKind) -> None:
    account.record(connected.user, kind, connected.provider)
