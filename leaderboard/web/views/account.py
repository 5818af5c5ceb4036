"""A person's account: competitions joined, API tokens, sessions, data, deletion."""

from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.account.views import EmailView
from allauth.socialaccount.adapter import get_adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.participate import accounts, tokens
from leaderboard.participate import sessions as open_sessions
from leaderboard.platform.forms import attempt, blame
from leaderboard.platform.throttles import check_token
from leaderboard.web.forms import DeleteAccountForm, TokenForm
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
    check_token(request)
    given = form.cleaned_data
    try:
        token = tokens.issue(
            user,
            days=form.days,
            scopes=given["scopes"],
            name=given["name"],
            binding=form.binding,
        ).text
    except Refused as refused:
        blame(form, refused)
        return _account_page(request, form=form, status=refused.status)
    return _account_page(request, new_token=token, status=201)


@sent_from("account")
def revoke_token(request: HttpRequest, key: str) -> HttpResponse:
    """Make a token invalid."""
    if tokens.revoke(signed_in(request), key):
        messages.success(request, "The token is revoked. Programs that use it are signed out.")
    return redirect("account")


@sent_from("account", anchor="#your-page")
def change_page(request: HttpRequest) -> HttpResponse:
    """Show the person's page to others, or to nobody."""
    is_shown = request.POST.get("show") == "yes"
    accounts.set_page(signed_in(request), is_shown=is_shown)
    who = "everybody who may see your competitions" if is_shown else "nobody"
    messages.success(request, f"Your page is shown to {who} now.")
    return redirect("account")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    """List where the person is signed in; end all but this one."""
    user = signed_in(request)
    if request.method == "POST":
        open_sessions.end_others(request, user)
        messages.success(request, "You are signed out everywhere else.")
        return redirect("account-sessions")
    context = {"sessions": queries.sessions(user), "tokens": queries.api_tokens(user)}
    return _private(render(request, "pages/sessions.html", context))


@login_required
@reauthentication_required(app="leaderboard")  # type: ignore[untyped-decorator]  # of allauth
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Hand out all that is stored about the person."""
    data = queries.account_data(signed_in(request))
    response = JsonResponse(data, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return _private(response)


@login_required
@reauthentication_required(app="leaderboard")  # type: ignore[untyped-decorator]  # of allauth
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the account, once it is asked for by its name."""
    user = signed_in(request)
    form = DeleteAccountForm(request.POST if request.method == "POST" else None)

    def act() -> None:
        if form.cleaned_data["username"] != user.username:
            raise Refused("account_stays", variant="name")
        accounts.delete(user)

    status = attempt(form, act) if form.is_bound else 200
    if status:
        try:
            accounts.check_may_delete(user)
            problem = ""
        except Refused as refused:
            problem = refused.detail
        context = {"form": form, "problem": problem}
        return _private(render(request, "pages/account_delete.html", context, status=status))
    logout(request)
    messages.success(request, "Your account is deleted.")
    return redirect("home")


def _private(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response


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
        "security": queries.security(user),
        "has_providers": bool(get_adapter().list_providers(request)),
        "site_url": settings.SITE_URL,
    }
    return _private(render(request, "pages/account.html", context, status=status))
