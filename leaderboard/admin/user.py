"""People: for operators, who grant the organizer's role here."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin

from leaderboard.admin.scope import OperatorOnly, never
from leaderboard.models import User


@admin.register(User)
class UserAdmin(OperatorOnly, DjangoUserAdmin[User]):
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
