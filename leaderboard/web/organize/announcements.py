"""The page "Announcements": written with a preview, edited, withdrawn."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard.access import Right, may, signed_in
from leaderboard.models import Announcement, Competition
from leaderboard.organize.announcements import (
    LONGEST_TEXT,
    LONGEST_TITLE,
    announce,
    edit,
    withdraw,
)
from leaderboard.web.organize.frame import button, refusals, show, url_of


class AnnouncementForm(forms.Form):
    """A title and a Markdown text."""

    title = forms.CharField(max_length=LONGEST_TITLE)
    text = forms.CharField(
        max_length=LONGEST_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text="Markdown; TeX between dollar signs. Members who want it get it by mail.",
    )


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the announcements; show or take a new one."""
    form = AnnouncementForm(request.POST or None)
    if form.is_valid() and "preview" not in request.POST:
        with refusals(form):
            announce(competition, by=signed_in(request), **form.cleaned_data)
            messages.success(request, "Announced.")
            return redirect(url_of(competition, "announcements"))
    return show(request, competition, "announcements", _context(request, competition, form))


def change(request: HttpRequest, competition: Competition, number: int) -> HttpResponse:
    """Show or take the changes of an announcement."""
    announcement = _one(competition, number)
    given = {"title": announcement.title, "text": announcement.text}
    form = AnnouncementForm(request.POST or None, initial=given)
    form.fields["text"].help_text = "Markdown; TeX between dollar signs. No mail is sent again."
    if form.is_valid() and "preview" not in request.POST:
        with refusals(form):
            edit(announcement, by=signed_in(request), **form.cleaned_data)
            messages.success(request, "Saved.")
            return redirect(url_of(competition, "announcements"))
    context = _context(request, competition, form) | {"announcement": announcement}
    return show(request, competition, "announcement", context)


def take_back(request: HttpRequest, competition: Competition, number: int) -> HttpResponse:
    """Ask, then withdraw an announcement."""
    announcement = _one(competition, number)
    view = button(
        "announcements",
        lambda request, *_, **shown: withdraw(announcement, by=signed_in(request)),
        told="It is withdrawn.",
        asks="announcement_withdraw",
    )
    answer = view(request, competition, announcement=announcement)
    assert isinstance(answer, HttpResponse)  # noqa: S101  (pages and redirects both are)
    return answer


def _one(competition: Competition, number: int) -> Announcement:
    found = competition.announcements.filter(number=number).first()
    if found is None:
        raise Http404("There is no such announcement.")
    return found


def _context(
    request: HttpRequest, competition: Competition, form: AnnouncementForm
) -> dict[str, object]:
    previewed = "preview" in request.POST and form.is_valid()
    return {
        "form": form,
        "preview": form.cleaned_data if previewed else None,
        "announcements": competition.announcements.select_related("author"),
        "may_edit": may(request.user, competition, Right.EDIT),
    }
