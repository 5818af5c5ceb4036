"""What operators look at, and the accounts and tokens that they look after.

Imported once, when all models are loaded and other packages have registered theirs. It is not the
package itself that registers: the site's class is in the package, and importing it must not ask for
the site before it is there.
"""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.http import HttpRequest
from knox.models import AuthToken

from leaderboard.models import Competition, Event, Release, Submission, Team, User


def never(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """Allow nobody: a permission of an admin class."""
    return False


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # a plain class when it runs
    """What nobody changes by hand: rows that the ledger, the console or the pipeline write."""

    list_per_page = 50
    show_full_result_count = False

    has_add_permission = has_change_permission = has_delete_permission = never


@admin.register(Competition)
class CompetitionAdmin(ReadOnlyAdmin):
    """Competitions, whose console operators can use as well."""

    list_display = ("title", "slug", "visibility", "opened_by_organizer_at", "created_at")
    list_filter = ("visibility",)
    search_fields = ("title", "slug")


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    """Teams of all competitions."""

    list_display = ("name", "competition", "captain", "is_verified", "is_baseline")
    list_select_related = ("competition", "captain")
    search_fields = ("name", "competition__slug")


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    """Submissions; failed ones are queued again in the console."""

    list_display = ("__str__", "round", "user", "status", "failure", "created_at")
    list_filter = ("status",)
    list_select_related = ("team", "round__competition", "user")
    search_fields = ("team__name", "user__username", "file_name")


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    """The ledger's answers, as everybody may read them."""

    list_display = ("number", "team", "board", "kind", "level", "steps", "created_at")
    list_select_related = ("team", "board")
    search_fields = ("team__name",)
    ordering = ("-created_at", "-number")


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """What happened."""

    list_display = ("number", "competition", "kind", "audience", "actor", "created_at")
    list_filter = ("kind",)
    list_select_related = ("competition", "actor")
    search_fields = ("competition__slug", "actor__username")
    ordering = ("-created_at", "-pk")


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    """Accounts are switched off, not deleted: what people did stays in the ledger and the log."""

    list_display = ("username", "email", "is_organizer", "is_superuser", "is_active", "last_login")
    list_filter = ("is_organizer", "is_superuser", "is_active")
    search_fields = ("username", "email")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "email", "password")}),
        ("Roles", {"fields": ("is_organizer", "is_superuser", "is_active")}),
        ("Dates", {"fields": ("date_joined", "last_login")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "email", "password1", "password2")}),)

    has_delete_permission = never


class TokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """API tokens, to be revoked: what is stored is a hash."""

    list_display = ("token_key", "user", "created", "expiry")
    search_fields = ("token_key", "user__username")
    list_select_related = ("user",)

    has_add_permission = has_change_permission = never


admin.site.unregister(AuthToken)
admin.site.register(AuthToken, TokenAdmin)
# How people sign in is theirs; an operator resets second factors by `manage.py account`.
admin.site.unregister([Authenticator, SocialAccount, SocialApp, SocialToken, UserSession])
