"""API tokens: operators see whose they are and revoke them. What is stored is a hash."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from knox.models import AuthToken

from leaderboard.admin.scope import OperatorOnly, TypedAdmin


@admin.register(AuthToken)
class TokenAdmin(OperatorOnly, TypedAdmin[Any]):
    """API tokens, for operators to revoke."""

    list_display = ("token_key", "user", "created", "expiry")
    search_fields = ("token_key", "user__username")
    list_select_related = ("user",)
    fields = readonly_fields = ("token_key", "user", "created", "expiry")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
