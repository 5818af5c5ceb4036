"""A person's account: competitions joined, API tokens."""

from typing import Any

from allauth.account.views import EmailView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from leaderboard import queries
from leaderboard.access import signed_in
from leaderboard.participate import tokens
from leaderboard.web.forms import TokenForm
from leaderboard.web.posting import sent_from


@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Return what belongs to this person."""
    return _account_page(request)


@method_decorator(login_required, name="dispatch")
class AddressesView(EmailView):  # type: ignore[misc]  # allauth ships no types
    """The account's email addresses; looking at them changes nothing.

    allauth notes the address of an account that an operator made when the page is opened; here that
    is done when something is sent.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        skipped = AddressesView if request.method == "POST" else EmailView
        response: HttpResponseBase = super(skipped, self).dispatch(request, *args, **kwargs)  # type: ignore[arg-type]
        return response


@sent_from("account")
def create_token(request: HttpRequest) -> HttpResponse:
    """Make an API token and show it, this once."""
    user = signed_in(request)
    form = TokenForm(user, request.POST)
    if not form.is_valid():
        return _account_page(request, form=form, status=422)
    given = form.cleaned_data
    token = tokens.issue(user, days=form.days, scopes=given["scopes"], name=given["name"]).text
    return _account_page(request, new_token=token, status=201)


@sent_from("account")
def revoke_token(request: HttpRequest, key: str) -> HttpResponse:
    """Make a token invalid."""
    if tokens.revoke(signed_in(request), key):
        messages.success(request, "The token is revoked. Programs that use it are signed out.")
    return redirect("account")


def _account_page(
    request: HttpRequest, form: TokenForm | None = None, new_token: str = "", status: int = 200
) -> HttpResponse:
    user = signed_in(request)
    cards = queries.competition_cards(user)
    context = {
        "cards": [card for card in cards if card.joined],
        "mails": queries.mail_settings(user),
        "tokens": queries.api_tokens(user),
        "form": form or TokenForm(user),
        "new_token": new_token,
        "site_url": settings.SITE_URL,
    }
    response = render(request, "pages/account.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response
