"""The tab "Settings": texts, times, people and limits of a competition, and a new one."""

from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify

from leaderboard.access import Right, may, signed_in
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round, User
from leaderboard.organize.drafts import delete_competition, has_answers
from leaderboard.organize.fields import LIMITS, OF_COMPETITION, OF_LEDGER, OF_ROUND
from leaderboard.organize.settings import change_settings, create_draft, fixed_settings
from leaderboard.web.organize.frame import next_url, refusals, show, url_of

MEGABYTE: Final = 1_000_000

_GROUPS: Final = (
    ("Name", ("title", "slug", "tagline")),
    ("Times", ("opens_at", "closes_at")),
    ("Texts", ("description", "rules", "ask_again", "data_description")),
    ("Visibility", ("visibility",)),
    ("Limits", LIMITS),
    ("The ledger, for good once it opens", OF_LEDGER),
)
_LABELS: Final = {
    "slug": "Short name",
    "tagline": "One sentence",
    "description": "Overview page",
    "rules": "Rules page",
    "data_description": "Data page",
    "team_size": "Members per team",
}
# What may stay empty in a draft.
_NEEDS: Final = {"description": "needed to open", "rules": "needed to open", "organizers": "or you"}
_HELP: Final = {
    "slug": "Letters, digits and hyphens: the address is /c/short-name/. "
    "It is fixed once the competition opens.",
    "description": "Markdown. What is to be predicted, from what, and why.",
    "rules": "Markdown. Everyone who joins accepts this text.",
    "data_description": "Markdown. Where the data come from, what the columns mean.",
    "total_limit": "Per team. Empty: no limit. Every scored submission widens the "
    "guarantee a little, so a limit keeps it narrow.",
    "team_size": "Limits and budgets belong to the team: members share them.",
    "is_hidden": "Until the final scores are revealed a team sees its own answers, and nothing of "
    "other teams: no ranks, counts or times. Guarantees are much narrower then, if teams don't "
    "share answers. Needs an end, a number of teams, and a number of questions.",
    "team_limit": "Baselines count too. Empty: no limit.",
}


class MomentField(forms.DateTimeField):
    """A moment in UTC, typed with the browser's own control, to the minute."""

    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial and initial.replace(second=0, microsecond=0), data)


class MegabytesField(forms.DecimalField):
    """A number of bytes, typed in MB."""

    def __init__(self, **options: Any) -> None:
        highest = settings.MAX_UPLOAD_BYTES / MEGABYTE
        super().__init__(min_value=0, max_value=highest, decimal_places=6, **options)

    def prepare_value(self, value: Any) -> Any:
        return f"{value / MEGABYTE:.6f}".rstrip("0").rstrip(".") if type(value) is int else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self.disabled and self.prepare_value(initial) != data

    def clean(self, value: Any) -> Any:
        if type(value) is int:  # the initial value of a field that is fixed
            return value
        megabytes = super().clean(value)
        return None if megabytes is None else max(1, int(megabytes * MEGABYTE))


class SettingsForm(forms.Form):
    """All settings of a competition, or of one to come; those that are fixed can't be typed in."""

    def __init__(
        self, competition: Competition | None, user: User, data: Any | None = None
    ) -> None:
        super().__init__(data)
        self.is_new = competition is None
        given = forms.fields_for_model(
            Competition,
            fields=OF_COMPETITION,
            labels=_LABELS,
            help_texts=_HELP,
            error_messages={"slug": {"invalid": "Use letters a to z, digits and hyphens only."}},
        ) | forms.fields_for_model(Round, fields=OF_ROUND, help_texts=_HELP)
        given |= {
            "opens_at": MomentField(label="Opens (UTC)"),
            "closes_at": MomentField(
                label="Closes (UTC)", required=False, help_text="Empty: it has no end."
            ),
            "max_file_bytes": MegabytesField(label="Largest file, in MB", initial=50 * MEGABYTE),
            "ask_again": forms.BooleanField(
                label="The rules changed in substance: members have to accept them again",
                help_text="Starts a new version of the rules. Leave it empty to fix a typo.",
                required=False,
            ),
        }
        self.fields.update({name: given[name] for _, names in _GROUPS for name in names})
        for name, field in self.fields.items():
            field.error_messages["required"] = "Missing."
            # Shown beside the label of one that may be empty.
            field.need = _NEEDS.get(name, "optional")  # type: ignore[attr-defined]
        if competition is None:
            del self.fields["ask_again"]
            self.fields["slug"].required = False
            self.fields["slug"].help_text += " Left empty, it follows from the title."
            return
        round = competition.current_round
        self.initial.update({name: getattr(competition, name) for name in OF_COMPETITION})
        self.initial.update({name: getattr(round, name) for name in OF_ROUND})
        for name in fixed_settings(competition):
            self.fields[name].disabled = True

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [
            (title, [self[name] for name in names if name in self.fields])
            for title, names in _GROUPS
        ]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.is_new and not data.get("slug") and "slug" not in self.errors:
            longest = Competition._meta.get_field("slug").max_length
            data["slug"] = slugify(data.get("title", ""))[:longest]
        return data

    def settings(self) -> dict[str, Any]:
        """Return what the valid form says: all of a new competition, else what was changed."""
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if self.is_new or name in self.changed_data
        }


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show or take the settings."""
    user = signed_in(request)
    form = SettingsForm(competition, user, request.POST or None)
    if form.is_valid():
        with refusals(form):
            change_settings(competition, user, **form.settings())
            messages.success(request, "Saved.")
            return redirect(url_of(competition, "settings"))
    may_delete = may(user, competition, Right.OWN) and not has_answers(competition)
    return show(request, competition, "settings", {"form": form, "may_delete": may_delete})


def new_page(request: HttpRequest) -> HttpResponse:
    """Show the settings of a competition to come, or make it, as a draft."""
    user = signed_in(request)
    form = SettingsForm(None, user, request.POST or None)
    if form.is_valid():
        with refusals(form):
            competition = create_draft(user, **form.settings())
            messages.success(request, "Saved as a draft that only you can see.")
            return redirect(next_url(competition, "settings"))
    return render(request, "organize/by_hand.html", {"form": form})


def delete(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Ask, then delete a competition that nobody has submitted to."""
    if request.method == "POST":
        try:
            delete_competition(competition, by=signed_in(request))
        except Refused as refused:
            messages.warning(request, str(refused))
            return redirect(url_of(competition, "settings"))
        messages.success(request, f"{competition.title} is deleted.")
        return redirect("organize")
    context = {
        "files": competition.current_round.origin.files.count(),
        "teams": competition.teams.count(),
    }
    return show(request, competition, "delete", context)
