"""Codes of second factors: kept encrypted, taken once."""

import base64
import hashlib
import secrets
from typing import Final

from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.core.cache import cache
from django.utils.crypto import salted_hmac

from leaderboard.errors import Refused
from leaderboard.models import User

_SALT: Final = "leaderboard.participate.codes"
# As long as a code of an authenticator app is taken: its own half minute, and one on each side.
_TAKEN_SECONDS: Final = 90


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth ships no types
    """Keep secrets of second factors encrypted, so that a copy of the database opens no account.

    The key follows from SECRET_KEY: with another one no code fits any more, and operators reset.
    """

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is not right, or was used already. An app shows a new one "
        "every half minute; a recovery code works once.",
        "unverified_email": "Confirm your email address first, or remove it: whoever has it must "
        "be able to get at the account.",
        "add_email_blocked": "An account with a second factor can't take an address that is not "
        "confirmed. Remove the second factor, add and confirm the address, and set it up again.",
    }

    def generate_authenticator_name(self, user: User, kind: str) -> str:
        many = Authenticator.objects.filter(user=user, type=kind).count()
        return f"Passkey {many + 1}" if many else "Passkey"

    def encrypt(self, text: str) -> str:
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _cipher().decrypt(encrypted_text).decode()
        except InvalidToken:
            return base64.b32encode(secrets.token_bytes(20)).decode()  # a secret that nobody has


class _TakenOnce:
    """A form with a code of a second factor, which is taken once."""

    user: User

    def clean_code(self) -> str:
        code: str = super().clean_code()  # type: ignore[misc]  # of allauth's form
        digest = hashlib.sha256(f"{self.user.pk}:{code.replace(' ', '')}".encode()).hexdigest()
        if not cache.add(f"second-factor:{digest}", value=True, timeout=_TAKEN_SECONDS):
            raise get_adapter().validation_error("incorrect_code")
        return code


class CodeForm(_TakenOnce, AuthenticateForm):  # type: ignore[misc]  # allauth ships no types
    """The second step of signing in."""


class ConfirmingCodeForm(_TakenOnce, ReauthenticateForm):  # type: ignore[misc]  # the same
    """Who is signed in shows a second factor again."""


def check_code(user: User, code: str) -> None:
    """Take a code of the account's app or recovery codes. Raises Refused."""
    form = CodeForm(user=user, data={"code": code})
    if form.is_valid():
        form.authenticator.record_usage()
        return
    (problem,) = form.errors.as_data()["code"]
    raise Refused(
        "wrong_code", variant="many" if problem.code == "too_many_login_attempts" else None
    )


def has_app_or_codes(user: User) -> bool:
    """Return whether the person can type a code; a passkey needs a browser."""
    found = Authenticator.objects.filter(user=user)
    return bool(found.exclude(type=Authenticator.Type.WEBAUTHN).exists())


def _cipher() -> Fernet:
    key = salted_hmac(_SALT, "key", secret=settings.SECRET_KEY, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
