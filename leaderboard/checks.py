"""Check our own settings; every finding has a number and says what to do."""

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

TOKEN_LENGTH = 16


@register(Tags.security)
def vault_keys(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that the vault's public key is there."""
    if settings.VAULT_PUBLIC_KEY_FILE.is_file():
        return []
    return [
        checks.Warning(
            f"There is no vault public key at {settings.VAULT_PUBLIC_KEY_FILE}.",
            hint="Run `python manage.py vault_keys`, or set VAULT_PUBLIC_KEY_FILE.",
            id="holdfast.W001",
        )
    ]


@register(Tags.security)
def metrics_token(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that nobody can guess the token of the monitoring page."""
    if not settings.METRICS_TOKEN or len(settings.METRICS_TOKEN) >= TOKEN_LENGTH:
        return []
    return [
        Error(
            f"METRICS_TOKEN has fewer than {TOKEN_LENGTH} characters.",
            hint="Draw a longer one, for example with `openssl rand -hex 32`.",
            id="holdfast.E002",
        )
    ]


@register(Tags.security, deploy=True)
def secure_site(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that a deployed site speaks https."""
    if settings.SECURE:
        return []
    return [
        Error(
            f"SITE_URL is {settings.SITE_URL}: sessions would travel in the clear.",
            hint="Set SITE_URL to the https address that people use.",
            id="holdfast.E001",
        )
    ]
