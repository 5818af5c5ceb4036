"""API tokens: operators see whose they are and revoke them. What is stored is a hash."""

from typing import Any

from django.contrib import admin
from knox.models import AuthToken

from leaderboard.admin.scope import OperatorOnly, never


@admin.register(AuthToken)
class TokenAdmin(OperatorOnly, admin.ModelAdmin[Any]):
    """API tokens, for operators to revoke."""

    list_display = ("token_key", "user", "created", "expiry")
    search_fields = ("token_key", "user__username")
    list_select_related = ("user",)
    fields = readonly_fields = ("token_key", "user", "created", "expiry")

    has_add_permission = has_change_permission = never
