"""A form field of usernames: organizers don't get to browse the list of accounts."""

from __future__ import annotations

import re

from django import forms
from django.db.models.functions import Lower

from leaderboard.models import User


class UsernamesField(forms.Field):
    """Usernames separated by spaces, commas or lines; cleaned to accounts. Case doesn't matter."""

    widget = forms.Textarea(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"})

    def prepare_value(self, value: object) -> object:
        if isinstance(value, list):
            return " ".join(user.get_username() for user in value)
        return value

    def to_python(self, value: str | None) -> list[User]:
        names = dict.fromkeys(re.split(r"[\s,;\0]+", (value or "").strip().lower()))
        names.pop("", None)
        lowered = User.objects.annotate(lowered=Lower("username"))
        found = {user.username.lower(): user for user in lowered.filter(lowered__in=names)}
        unknown = [name for name in names if name not in found]
        if unknown:
            raise forms.ValidationError(f"There is no account called {', '.join(unknown)}.")
        return [found[name] for name in names]
