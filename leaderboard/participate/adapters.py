"""How accounts behave where that is not allauth's way: its mails, and whose guesses are counted."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.httpkit import get_client_ip
from django.conf import settings
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.urls import reverse


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """Mails lead to SITE_URL alone, and nobody's wrong guesses keep another from signing in."""

    def render_mail(
        self, template_prefix: str, email: Any, context: dict[str, Any], headers: Any = None
    ) -> EmailMessage:
        """Return a mail whose links are ours, whatever host the request named."""
        ours = {name: _on_site(value) for name, value in context.items()}
        ours["current_site"] = SimpleNamespace(domain=urlsplit(settings.SITE_URL).netloc)
        message: EmailMessage = super().render_mail(template_prefix, email, ours, headers)
        return message

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Return where one goes on after signing in with the new password."""
        return reverse("account")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count guesses at an account by the address that they come from."""
        login = credentials.get("email") or credentials.get("username") or ""
        return f"{get_client_ip(request)}:{login.lower()}"


def _on_site(value: Any) -> Any:
    """Return an absolute address as SITE_URL has it, and anything else as it is."""
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return value
    path = urlsplit(value)._replace(scheme="", netloc="").geturl()
    return settings.SITE_URL + path
