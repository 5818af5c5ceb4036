"""Second factors for tests: an authenticator app without a clock of its own."""

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp

from leaderboard.models import User


def add_app(user: User) -> list[str]:
    """Give the account an authenticator app. Return its recovery codes."""
    totp.TOTP.activate(user, totp.generate_totp_secret())
    codes: list[str] = RecoveryCodes.activate(user).get_unused_codes()
    return codes


def app_code(user: User, secret: str = "") -> str:
    """Return what the account's app, or one with this secret, shows now."""
    if not secret:
        row = Authenticator.objects.get(user=user, type=Authenticator.Type.TOTP)
        secret = get_adapter().decrypt(row.data["secret"])
    _, now, _ = totp.yield_hotp_counters_from_time()
    code: str = totp.format_hotp_value(totp.hotp_value(secret, now))
    return code
