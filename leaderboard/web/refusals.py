"""A `Refused` that no form is there to show becomes a page of its own."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from leaderboard.errors import Refused

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def refused_page(request: HttpRequest, refused: Refused) -> HttpResponse:
    """Return what happened, what it means, what can be done; with the refusal's status."""
    return render(request, "refused.html", {"refused": refused}, status=refused.status)


def shows_refusals(view: View[P]) -> View[P]:
    """Turn a `Refused` raised by the view into a page."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Refused as refused:
            return refused_page(request, refused)

    return wrapper
