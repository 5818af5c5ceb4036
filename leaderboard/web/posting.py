"""Addresses that take what a form sends, and what becomes of a refusal that no form shows."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from leaderboard.access import competition_or_404
from leaderboard.errors import Refused

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def shows_refusals(view: View[P]) -> View[P]:
    """Show a `Refused` of the view as a page of its own, where no form is there to show it."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Refused as refused:
            return render(request, "refused.html", {"refused": refused}, status=refused.status)

    return wrapper


def sent_from(page: str, *parameters: str, anchor: str = "") -> Callable[[View[P]], View[P]]:
    """Wrap a view that takes what a form sends, from somebody who is signed in.

    `parameters` are those of the view's address that the page's has too. Who only looks, as after
    signing in, comes to the page, if the competition exists for them; who has to sign in first
    comes back to it.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            known = {name: kwargs[name] for name in parameters}
            address = reverse(page, kwargs=known) + anchor
            if not request.user.is_authenticated:
                return redirect_to_login(address)
            if request.method != "POST":
                if "slug" in known:
                    competition_or_404(request.user, str(known["slug"]))
                return redirect(address)
            return shows_refusals(view)(request, *args, **kwargs)

        return require_http_methods(["GET", "HEAD", "POST"])(wrapper)

    return decorate
