"""The admin site: for operators, with the site's own sign-in."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.generic import RedirectView


class HoldfastAdminSite(AdminSite):
    """Operators see everything, whatever permissions others were given; organizers nothing."""

    site_header = site_title = "Holdfast"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Refuse who is signed in and no operator at once, before any object is looked up."""
        inner = super().admin_view(view, cacheable)

        def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated and not self.has_permission(request):
                raise PermissionDenied
            return inner(request, *args, **kwargs)

        return wrapper

    def get_urls(self) -> list[Any]:
        """Lead to the account's page for passwords, where the change is mailed to the person.

        Nothing here has a page of its own on the site to redirect to.
        """
        password = RedirectView.as_view(pattern_name="account_change_password")
        left_out = {"password_change", "password_change_done", "view_on_site"}
        kept = [url for url in super().get_urls() if getattr(url, "name", None) not in left_out]
        return [path("password_change/", password, name="password_change"), *kept]

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the site's own sign-in."""
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
            target = resolve_url("admin:index")
        if self.has_permission(request):
            return redirect(target)
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(target, resolve_url("account_login"))
