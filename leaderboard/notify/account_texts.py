"""What mails about the security of an account say."""

from collections.abc import Mapping
from typing import Final

from django.urls import reverse

from leaderboard.models import AccountEvent, AccountEventKind
from leaderboard.notify.notices import Text

# The person is told of what may have been another's doing; in these words.
SUBJECTS: Final[Mapping[str, str]] = {
    AccountEventKind.PASSWORD_CHANGED: "Your password was changed",
    AccountEventKind.FACTOR_ADDED: "A second factor was added to your account",
    AccountEventKind.FACTOR_REMOVED: "A second factor was removed from your account",
    AccountEventKind.FACTORS_RESET: "An operator removed all second factors of your account",
    AccountEventKind.CODES_RENEWED: "New recovery codes were made for your account",
    AccountEventKind.PROVIDER_ADDED: "Your account has a new way to sign in",
    AccountEventKind.PROVIDER_REMOVED: "A way to sign in to your account was removed",
    AccountEventKind.TOKEN_MADE: "An API token was made for your account",
}


def text_of(event: AccountEvent) -> Text:
    """Return what the mail says."""
    at = f"{event.created_at.day} {event.created_at:%B %Y, %H:%M} UTC"
    return Text(
        SUBJECTS[event.kind],
        f"{at}{f': {event.detail}' if event.detail else ''}.\n\n"
        "If it was not you, set a new password at once: that ends all other sessions and revokes "
        "all API tokens. Then look at how one signs in to your account.",
        reverse("account"),
        "Look at your account",
    )
