"""After the end: the organizer's word to publish solution and secret, which can't be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from leaderboard import queries
from leaderboard.admin.steps import say, show, url_of, warn
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round
from leaderboard.pipeline.publish import check_may_publish, publish

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


class PublicationForm(forms.Form):
    """The competition's short name, typed by hand: nobody does this by a slip of the mouse."""

    slug = forms.CharField(label="Short name of the competition, to confirm", max_length=60)

    def __init__(self, competition: Competition, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # the form's own arguments
        self.competition = competition

    def clean_slug(self) -> str:
        if self.cleaned_data["slug"] != self.competition.slug:
            raise forms.ValidationError(f"Type “{self.competition.slug}” to confirm.")
        return self.competition.slug


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show what becomes public; publish it at the organizer's word."""
    round = competition.current_round
    form = PublicationForm(competition, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            publish(round)
        except Refused as refused:
            warn(request, str(refused))
        else:
            owner.log_change(request, competition, "Published solution and secret.")
            say(request, "Workers are writing the files. They appear on the ledger page.")
        return redirect(url_of(competition, "publication"))
    context = {
        "form": form,
        "missing": _find_missing(round),
        "publications": queries.publications(round),
    }
    return show(request, owner, competition, "publication", context)


def _find_missing(round: Round) -> str:
    """Return what has to happen first; empty if nothing."""
    try:
        check_may_publish(round)
    except Refused as refused:
        return str(refused)
    return ""
