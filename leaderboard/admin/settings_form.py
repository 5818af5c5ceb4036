"""Texts, times, people and limits of a competition."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.utils import timezone

from leaderboard.admin.usernames import UsernamesField
from leaderboard.models import Competition, Phase, User

MEBIBYTE = 2**20

if TYPE_CHECKING:
    _Form = forms.ModelForm[Competition]
else:  # ModelForm takes type parameters in its stubs only
    _Form = forms.ModelForm


class MomentField(forms.DateTimeField):
    """A moment in UTC, typed with the browser's own control."""

    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})


class MebibytesField(forms.DecimalField):
    """A number of bytes, typed in MiB."""

    def __init__(self, **options: Any) -> None:
        highest = settings.MAX_UPLOAD_BYTES // MEBIBYTE
        super().__init__(min_value=0, max_value=highest, decimal_places=3, **options)

    def prepare_value(self, value: Any) -> Any:
        return f"{value / MEBIBYTE:.3f}".rstrip("0").rstrip(".") if type(value) is int else value

    def clean(self, value: Any) -> Any:
        mebibytes = super().clean(value)
        return None if mebibytes is None else max(1, int(mebibytes * MEBIBYTE))


class SettingsForm(_Form):
    """`user` is who fills it in; the admin sets it."""

    user: ClassVar[User | None] = None

    opens_at = MomentField(label="Opens (UTC)")
    closes_at = MomentField(label="Closes (UTC)")
    max_file_bytes = MebibytesField(label="Largest file, in MiB", initial=50 * MEBIBYTE)
    ask_again = forms.BooleanField(
        label="The rules changed in substance: members accept them again",
        help_text="Raises the version of the rules. Leave it empty for a typing mistake.",
        required=False,
    )
    invited_names = UsernamesField(
        label="Invited people",
        help_text="Usernames. They see a competition whose visibility is “invited”.",
        required=False,
    )
    organizer_names = UsernamesField(
        label="Organizers",
        help_text="Usernames. They can do all that you can do here. Each needs the organizer's "
        "role, which an operator of this site grants.",
        required=False,
    )

    class Meta:
        model = Competition
        fields = (
            *("title", "slug", "tagline", "description", "rules", "data_description"),
            *("opens_at", "closes_at", "visibility"),
            *("daily_limit", "total_limit", "team_size", "max_file_bytes", "finals_limit"),
        )
        labels: ClassVar = {
            "slug": "Short name",
            "tagline": "One sentence",
            "description": "Overview page",
            "rules": "Rules page",
            "data_description": "Data page",
            "team_size": "Members of a team",
        }
        help_texts: ClassVar = {
            "slug": "Letters, digits and hyphens: the address is /c/short-name/. "
            "It is fixed once the competition opens.",
            "description": "Markdown. What is to be predicted, from what, and why. Needed to open.",
            "rules": "Markdown. Who joins accepts this text. Needed to open.",
            "data_description": "Markdown. Where the data come from, what the columns mean.",
            "total_limit": "Per team. Empty: no limit. Every scored submission widens the "
            "certificates a little, so a limit keeps them narrow.",
            "team_size": "Limits and budgets are the team's: members share them.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["invited_names"] = list(self.instance.invited.all())
            self.initial["organizer_names"] = list(self.instance.organizers.all())
        elif self.user is not None:
            self.initial["organizer_names"] = [self.user]

    def clean_organizer_names(self) -> list[User]:
        """At least the person itself, unless an operator does it; all with the role."""
        people: list[User] = self.cleaned_data["organizer_names"]
        without = [p.username for p in people if not (p.is_organizer or p.is_superuser)]
        if without:
            raise forms.ValidationError(
                f"{', '.join(without)}: no organizer's role yet. An operator grants it."
            )
        if self.user is None or self.user.is_superuser or self.user in people:
            return people
        if not self.instance.pk:
            return [self.user, *people]
        raise forms.ValidationError(
            "You would take the competition from yourself. Let another organizer do that."
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        opens, closes = data.get("opens_at"), data.get("closes_at")
        if opens and closes and closes <= opens:
            self.add_error("closes_at", "It must close after it opens.")
        elif closes and "closes_at" in self.changed_data and self._would_close(closes):
            self.add_error(
                "closes_at",
                "It is open. To close it now, use the page “The end”, which says so to everybody.",
            )
        if data.get("ask_again") and "rules" not in self.changed_data:
            self.add_error("ask_again", "The rules did not change. Change them, or leave this out.")
        return data

    def _would_close(self, closes: datetime) -> bool:
        """Whether an open competition would be closed by this, without a word to anybody."""
        now = timezone.now()
        before = Competition.objects.filter(pk=self.instance.pk).first()
        return before is not None and before.phase(now) is Phase.OPEN and closes <= now
