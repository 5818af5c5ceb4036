"""The admin site: for organizers and operators, with the site's own sign-in."""

from collections.abc import Iterable
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.generic import RedirectView

from leaderboard.admin.scope import OperatorOnly
from leaderboard.organize.people import may_organize_at_all


class HoldfastAdminSite(AdminSite):
    """Organizers see their competitions and what belongs to them, operators everything.

    Models that other packages register are for operators only, whatever permissions somebody was
    given; what is registered here is not replaced by theirs.
    """

    site_header = site_title = "Holdfast"
    enable_nav_sidebar = False

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin[Any]] | None = None,
        **options: Any,
    ) -> None:
        models = (
            [model_or_iterable] if isinstance(model_or_iterable, type) else list(model_or_iterable)
        )
        given = admin_class or ModelAdmin
        if not given.__module__.startswith("leaderboard."):
            models = [model for model in models if not self.is_registered(model)]
            given = type(f"Operator{given.__name__}", (OperatorOnly, given), {})
        super().register(models, given, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        return may_organize_at_all(request.user)

    def get_urls(self) -> list[Any]:
        """Begin with the list of competitions; passwords are changed on the account's page.

        There is no redirect by content type: it would tell which objects exist.
        """
        home = RedirectView.as_view(pattern_name="organize")
        password = RedirectView.as_view(pattern_name="account_change_password")
        labels = dict.fromkeys(model._meta.app_label for model in self._registry)
        ours = [
            path("", home, name="index"),
            path("password_change/", password, name="password_change"),
            path("password_change/done/", password, name="password_change_done"),
            *(path(f"{label}/", home) for label in labels),
        ]
        replaced = {"view_on_site", *(url.name for url in ours if url.name)}
        kept = [url for url in super().get_urls() if getattr(url, "name", None) not in replaced]
        return [*ours, *kept]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return apps and models in the order of registration: competitions first."""
        order = list(self._registry).index
        apps = super().get_app_list(request, app_label)
        for app in apps:
            app["models"].sort(key=lambda entry: order(entry["model"]))
        return sorted(apps, key=lambda app: order(app["models"][0]["model"]))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the site's own sign-in; show people without the role how to get it."""
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
            target = resolve_url("admin:index")
        if self.has_permission(request):
            return redirect(target)
        if request.user.is_authenticated:
            return render(request, "organize/no_role.html", status=403)
        return redirect_to_login(target, resolve_url("account_login"))
