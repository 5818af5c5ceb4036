"""The settings, by Django's system checks and ours."""

from collections.abc import Iterator

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from leaderboard.operate.doctor.report import Finding, note, ok, wrong


def site() -> Iterator[Finding]:
    """Run Django's checks and ours; on a real site also those for deployments."""
    found = checks.run_checks(include_deployment_checks=settings.SECURE)
    for message in found:
        says = f"{message.msg} ({message.id})"
        yield wrong(says, str(message.hint or "See `python manage.py check --deploy`."))
    try:
        secret_key = settings.SECRET_KEY
    except ImproperlyConfigured:
        secret_key = ""
    if not secret_key:
        yield wrong("SECRET_KEY is empty.", "Set it, for example to `openssl rand -hex 32`.")
    elif not found:
        yield ok(f"The settings of {settings.SITE_URL} are sound.")
    if not settings.SECURE:
        yield note("It is not an https address: fine on this machine, not for others.")
    if settings.SECURE and "console" in settings.EMAIL_BACKEND:
        yield note(
            "Mails are printed to the web process's log, links to set passwords among them"
            + (": nobody can confirm an address and join." if settings.CONFIRM_TO_JOIN else "."),
            "Set EMAIL_URL to a mail server.",
        )
