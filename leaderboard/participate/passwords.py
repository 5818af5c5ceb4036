"""What a new password ends."""

from leaderboard.models import User
from leaderboard.participate import tokens


class RevokeTokens:
    """Not a rule: Django tells every validator of passwords when one has been changed, on whatever
    page or console that was. Whoever had the old one may have made tokens with it."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Any password will do."""

    def get_help_text(self) -> str:
        return "A new password ends other sessions and revokes all API tokens."

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is not None:
            tokens.revoke_all(user)
