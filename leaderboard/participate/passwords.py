"""Revoke API tokens when a password changes."""

from leaderboard.models import User
from leaderboard.participate import tokens


class RevokeTokens:
    """Revoke tokens as a validator: Django notifies validators whenever a password changes.

    That covers every page and console. Whoever had the old password may have made tokens with it.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Accept any password."""

    def get_help_text(self) -> str:
        return "A new password ends other sessions and revokes all API tokens."

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is not None:
            tokens.revoke_all(user)
