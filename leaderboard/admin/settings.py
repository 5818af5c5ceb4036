"""The step "Settings": texts, times, people and limits of a competition, and a new one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.conf import settings
from django.contrib.admin.utils import construct_change_message
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from leaderboard.admin.scope import signed_in
from leaderboard.admin.steps import next_url, say, show, url_of
from leaderboard.admin.usernames import UsernamesField
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round, User
from leaderboard.organize import people
from leaderboard.organize.settings import (
    LIMITS,
    OF_COMPETITION,
    OF_ROUND,
    change_settings,
    create_draft,
    fixed_settings,
)

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

MEBIBYTE: Final = 2**20

_GROUPS: Final = (
    ("Name", ("title", "slug", "tagline")),
    ("Times", ("opens_at", "closes_at")),
    ("Texts", ("description", "rules", "ask_again", "data_description")),
    ("People", ("visibility", "invited_names", "organizer_names")),
    ("Limits", LIMITS),
)
_LABELS: Final = {
    "slug": "Short name",
    "tagline": "One sentence",
    "description": "Overview page",
    "rules": "Rules page",
    "data_description": "Data page",
    "team_size": "Members of a team",
}
_HELP: Final = {
    "slug": "Letters, digits and hyphens: the address is /c/short-name/. "
    "It is fixed once the competition opens.",
    "description": "Markdown. What is to be predicted, from what, and why. Needed to open.",
    "rules": "Markdown. Who joins accepts this text. Needed to open.",
    "data_description": "Markdown. Where the data come from, what the columns mean.",
    "total_limit": "Per team. Empty: no limit. Every scored submission widens the "
    "guarantee a little, so a limit keeps it narrow.",
    "team_size": "Limits and budgets are the team's: members share them.",
}
# What organize calls the lists of people that the form takes by their names.
_PEOPLE: Final = {"organizers": "organizer_names"}


class MomentField(forms.DateTimeField):
    """A moment in UTC, typed with the browser's own control, to the minute."""

    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial and initial.replace(second=0, microsecond=0), data)


class MebibytesField(forms.DecimalField):
    """A number of bytes, typed in MiB."""

    def __init__(self, **options: Any) -> None:
        highest = settings.MAX_UPLOAD_BYTES // MEBIBYTE
        super().__init__(min_value=0, max_value=highest, decimal_places=3, **options)

    def prepare_value(self, value: Any) -> Any:
        return f"{value / MEBIBYTE:.3f}".rstrip("0").rstrip(".") if type(value) is int else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self.disabled and self.prepare_value(initial) != data

    def clean(self, value: Any) -> Any:
        if type(value) is int:  # the initial value of a field that is fixed
            return value
        mebibytes = super().clean(value)
        return None if mebibytes is None else max(1, int(mebibytes * MEBIBYTE))


class SettingsForm(forms.Form):
    """All settings of a competition, or of one to come; those that are fixed can't be typed in."""

    def __init__(
        self, competition: Competition | None, user: User, data: Any | None = None
    ) -> None:
        super().__init__(data)
        self.is_new = competition is None
        given = forms.fields_for_model(
            Competition, fields=OF_COMPETITION, labels=_LABELS, help_texts=_HELP
        ) | forms.fields_for_model(Round, fields=OF_ROUND, help_texts=_HELP)
        given |= {
            "opens_at": MomentField(label="Opens (UTC)"),
            "closes_at": MomentField(
                label="Closes (UTC)", required=False, help_text="Empty: it has no end."
            ),
            "max_file_bytes": MebibytesField(label="Largest file, in MiB", initial=50 * MEBIBYTE),
            "ask_again": forms.BooleanField(
                label="The rules changed in substance: members accept them again",
                help_text="Raises the version of the rules. Leave it empty for a typing mistake.",
                required=False,
            ),
            "invited_names": UsernamesField(
                label="Invited people",
                help_text="Usernames. They see a competition whose visibility is “invited”.",
                required=False,
            ),
            "organizer_names": UsernamesField(
                label="Organizers",
                help_text="Usernames. They can do all that you can do here. Each needs the "
                "organizer's role, which an operator of this site grants.",
                required=False,
            ),
        }
        self.fields.update({name: given[name] for _, names in _GROUPS for name in names})
        if competition is None:
            del self.fields["ask_again"]
            self.initial["organizer_names"] = [user]
            return
        round = competition.current_round
        self.initial.update({name: getattr(competition, name) for name in OF_COMPETITION})
        self.initial.update({name: getattr(round, name) for name in OF_ROUND})
        self.initial["invited_names"] = list(competition.invited.all())
        self.initial["organizer_names"] = list(competition.organizers.all())
        for name in fixed_settings(competition):
            self.fields[name].disabled = True

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields under their headings."""
        return [
            (title, [self[name] for name in names if name in self.fields])
            for title, names in _GROUPS
        ]

    def settings(self) -> dict[str, Any]:
        """Return what the valid form says of the settings that were changed."""
        names = self.fields if self.is_new else self.changed_data
        return {
            name: self.cleaned_data[name] for name in (*OF_COMPETITION, *OF_ROUND) if name in names
        }

    def blame(self, refused: Refused) -> None:
        """Show a refusal beside the fields that it names."""
        for name, message in refused.fields.items():
            field = _PEOPLE.get(name, name)
            self.add_error(field if field in self.fields else None, message)
        if not refused.fields:
            self.add_error(None, str(refused))


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show or take the settings."""
    user = signed_in(request)
    form = SettingsForm(competition, user)
    if request.method == "POST":
        form = SettingsForm(competition, user, request.POST)
        if form.is_valid() and _change(competition, user, form):
            owner.log_change(request, competition, construct_change_message(form, (), False))
            say(request, "Saved.")
            return redirect(url_of(competition, "change"))
    may_delete = owner.has_delete_permission(request, competition)
    return show(request, owner, competition, "change", {"form": form, "may_delete": may_delete})


@require_http_methods(["GET", "HEAD", "POST"])
def new_page(request: HttpRequest, owner: CompetitionAdmin) -> HttpResponse:
    """Show the settings of a competition to come, or make it, as a draft."""
    user = signed_in(request)
    form = SettingsForm(None, user)
    if request.method == "POST":
        form = SettingsForm(None, user, request.POST)
        if form.is_valid() and (competition := _create(user, form)):
            owner.log_addition(request, competition, construct_change_message(form, (), True))
            say(request, "Saved as a draft that only you see.")
            return redirect(next_url(competition, "change"))
    # For Django's script that fills the short name in while the title is typed.
    slug = {
        "id": "#id_slug",
        "name": "slug",
        "dependency_ids": ["#id_title"],
        "dependency_list": ["title"],
        "maxLength": Competition._meta.get_field("slug").max_length,
    }
    context = owner.admin_site.each_context(request) | {
        "title": "New competition",
        "opts": owner.opts,
        "form": form,
        "media": owner.media,
        "prepopulated_fields_json": json.dumps([slug]),
    }
    return render(request, "admin/competition/change.html", context)


def _change(competition: Competition, user: User, form: SettingsForm) -> bool:
    try:
        with transaction.atomic():
            ask_again = form.cleaned_data["ask_again"]
            change_settings(competition, user, ask_again=ask_again, **form.settings())
            _change_people(competition, user, form)
    except Refused as refused:
        form.blame(refused)
        return False
    return True


def _create(user: User, form: SettingsForm) -> Competition | None:
    try:
        with transaction.atomic():
            competition = create_draft(user, **form.settings())
            named = form.cleaned_data["organizer_names"]
            if not named or not (user.is_superuser or user in named):
                form.cleaned_data["organizer_names"] = [user, *named]
            _change_people(competition, user, form)
    except Refused as refused:
        form.blame(refused)
        return None
    return competition


def _change_people(competition: Competition, user: User, form: SettingsForm) -> None:
    """Write the lists of people that differ; only then does `user` need a role to do so."""
    named = form.cleaned_data["organizer_names"]
    if set(named) != set(competition.organizers.all()):
        people.change_organizers(competition, named, user)
    invited = form.cleaned_data["invited_names"]
    if set(invited) != set(competition.invited.all()):
        people.change_invited(competition, invited, user)
