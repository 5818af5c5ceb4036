"""The admin site: for organizers and operators, with the site's own sign-in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.db.models import Count, Model, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.generic import RedirectView

from leaderboard.access import organized_competitions
from leaderboard.admin.scope import OperatorOnly
from leaderboard.models import Status


class HoldfastAdminSite(AdminSite):
    """Organizers see their competitions and what belongs to them, operators everything.

    Models that other packages register are for operators only, whatever permissions somebody was
    given; what is registered here is not replaced by theirs.
    """

    site_header = site_title = "Holdfast"
    index_title = "Your competitions"
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
        user = request.user
        return user.is_active and (user.is_superuser or getattr(user, "is_organizer", False))

    def get_urls(self) -> list[Any]:
        """Passwords are changed on the account's page. There is no redirect by content type: it
        would tell which objects exist."""
        found = [url for url in super().get_urls() if getattr(url, "name", "") != "view_on_site"]
        to_password = RedirectView.as_view(pattern_name="account_change_password")
        to_index = RedirectView.as_view(pattern_name="admin:index")
        return [
            path("password_change/", to_password),
            path("password_change/done/", to_password),
            *(path(f"{label}/", to_index) for label in self._app_labels()),
            *found,
        ]

    def _app_labels(self) -> list[str]:
        return list(dict.fromkeys(model._meta.app_label for model in self._registry))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Competitions first: in the order of registration."""
        order = list(self._registry).index
        apps = super().get_app_list(request, app_label)
        for app in apps:
            app["models"].sort(key=lambda entry: order(entry["model"]))
        return sorted(apps, key=lambda app: order(app["models"][0]["model"]))

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        counted = organized_competitions(request.user).annotate(
            team_count=Count("teams", distinct=True),
            submission_count=Count("teams__submissions", distinct=True),
            failed_count=Count(
                "teams__submissions",
                filter=Q(teams__submissions__status=Status.FAILED),
                distinct=True,
            ),
        )
        now = timezone.now()
        rows = [{"competition": each, "phase": each.phase(now)} for each in counted]
        return super().index(request, {"rows": rows, **(extra_context or {})})

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The site's own sign-in; who is signed in without the role is told how to get it."""
        target = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
            target = resolve_url("admin:index")
        if self.has_permission(request):
            return redirect(target)
        if request.user.is_authenticated:
            return render(request, "admin/no_role.html", status=403)
        return redirect_to_login(target, resolve_url("account_login"))
