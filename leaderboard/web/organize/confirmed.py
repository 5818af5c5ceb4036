"""What can't be undone is confirmed by typing the competition's short name."""

from collections.abc import Mapping

from django import forms

from leaderboard.models import Competition


class ConfirmedForm(forms.Form):
    """The competition's short name, typed by hand: nobody does this by a slip of the mouse."""

    slug = forms.CharField(label="Short name of the competition, to confirm", max_length=60)

    def __init__(self, competition: Competition, data: Mapping[str, str] | None) -> None:
        super().__init__(data)
        self._expected = competition.slug
        self.fields["slug"].help_text = f"It is “{competition.slug}”."

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug != self._expected:
            raise forms.ValidationError(f"Type “{self._expected}” to confirm.")
        return slug
