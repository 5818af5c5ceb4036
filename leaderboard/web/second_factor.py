"""The second factor that organizers and operators need, where this site asks them for one."""

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from leaderboard.models import User
from leaderboard.participate.second_factors import is_missing
from leaderboard.refusals import REFUSALS

# What one needs to set one up: to prove who one is, to confirm an address, to leave.
_OPEN: Final = {
    *("account_logout", "account_reauthenticate", "account_email", "account_confirm_email"),
    *("account_change_password", "account_set_password", "healthz", "readyz", "metrics"),
}


class SecondFactorMiddleware:
    """Show organizers without a second factor the page to set one up, whatever page they ask for.

    The API refuses by itself: `leaderboard.api.authentication.ScopeGranted`.
    """

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Return a redirect to the page of second factors, or None to go on."""
        name = (request.resolver_match and request.resolver_match.url_name) or ""
        is_open = name in _OPEN or name.startswith("mfa_") or request.path.startswith("/api/")
        if is_open or not isinstance(request.user, User) or not is_missing(request.user):
            return None
        messages.warning(request, REFUSALS["second_factor_missing"].detail)
        return redirect("mfa_index")
