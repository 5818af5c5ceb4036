"""Forms with what a browser answers for a passkey, which may be anything at all."""

from typing import Any, Final

from allauth.mfa.webauthn import forms
from cryptography.exceptions import InvalidSignature

# What the library raises at answers that no browser gives, and at forged signatures.
_MALFORMED: Final = (AttributeError, KeyError, TypeError, ValueError, InvalidSignature)


class _Checked:
    """A form whose credential is refused where the library can't read it."""

    add_error: Any

    def full_clean(self) -> None:
        try:
            super().full_clean()  # type: ignore[misc]  # of Django's form
        except _MALFORMED:
            self.add_error("credential", "This passkey was not accepted. Try again.")


class AddForm(_Checked, forms.AddWebAuthnForm):  # type: ignore[misc]  # allauth ships no types
    """A new passkey."""


class LoginForm(_Checked, forms.LoginWebAuthnForm):  # type: ignore[misc]  # the same
    """Signing in by a passkey alone."""


class AuthenticateForm(_Checked, forms.AuthenticateWebAuthnForm):  # type: ignore[misc]  # the same
    """The second step of signing in."""


class ReauthenticateForm(_Checked, forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]  # the same
    """Who is signed in shows a passkey again."""
