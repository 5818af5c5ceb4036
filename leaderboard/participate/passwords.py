"""Revoke API tokens when a password changes."""

from django.contrib.auth.password_validation import UserAttributeSimilarityValidator

from leaderboard.models import User
from leaderboard.participate import tokens


class RevokeTokens(UserAttributeSimilarityValidator):
    """Revoke tokens as a validator: Django notifies validators whenever a password changes.

    That covers every page and console. Whoever had the old password may have made tokens with it.
    It is one of Django's, because the help text of each also stands where people sign up.
    """

    def password_changed(self, password: str, user: User | None = None) -> None:
        """Revoke the tokens of an account that has any."""
        if user is not None:
            tokens.revoke_all(user)
