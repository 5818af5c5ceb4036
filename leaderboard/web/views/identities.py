"""Signing in by an identity provider."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount import views as socialaccount
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.github import views as github
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from requests import RequestException

View = Callable[..., HttpResponse]


def _of_provider(view: View) -> View:
    """Lead to the provider by a page of our own; 404 for one that is not set up.

    Browsers hold a form's whole chain of redirects against `form-action 'self'`, and where a
    provider leads on to isn't known: a page that refreshes to its address is no such chain.
    """

    def wrapper(request: HttpRequest, **parameters: Any) -> HttpResponse:
        try:
            response = view(request, **parameters)
        except SocialApp.DoesNotExist:
            raise Http404("There is no such provider.") from None
        except (RequestException, KeyError, ValueError) as problem:
            context = {"provider_away": type(problem).__name__}
            return render(request, "socialaccount/authentication_error.html", context, status=502)
        address = response.headers.get("Location", "")
        if not urlsplit(address).netloc:
            return response
        return render(request, "socialaccount/leaving.html", {"address": address})

    return wrapper


# Of a provider that is not set up any more, nothing can be disconnected.
connections = _of_provider(socialaccount.connections)
github_login = _of_provider(github.oauth2_login)
github_callback = _of_provider(github.oauth2_callback)
oidc_login = _of_provider(openid_connect.login)
oidc_callback = _of_provider(openid_connect.callback)
