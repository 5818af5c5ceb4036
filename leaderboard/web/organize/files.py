"""The page "Files": what participants download."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.models import Competition, FileRole
from leaderboard.queries import public_files
from leaderboard.web.organize.frame import button, refusals, show, url_of


class FileForm(forms.Form):
    """A file to publish. What looks like hidden labels is published only when confirmed."""

    file = forms.FileField(label="File", max_length=120)
    role = forms.ChoiceField(label="Kind", choices=FileRole.choices, initial=FileRole.TRAIN)
    description = forms.CharField(label="Description", max_length=300, required=False)
    sure = forms.BooleanField(
        label="It holds no hidden labels: publish it", required=False, widget=forms.HiddenInput
    )


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the files and take new ones."""
    round = competition.current_round
    files = public_files(round)
    has_sample = files.filter(role=FileRole.SAMPLE).exists()
    first = {} if has_sample else {"role": FileRole.SAMPLE}
    form = FileForm(request.POST or None, request.FILES or None, initial=first)
    context = {"form": form, "files": files}
    if form.is_valid():
        with refusals(form, context, "file", "This file can't be the sample submission."):
            entry = organize.add_file(round, by=signed_in(request), **form.cleaned_data)
            told = f"{entry.name} is published to participants."
            messages.success(request, told)
            return redirect(url_of(competition, "files"))
    if form.has_error("file", "looks_hidden"):
        form.fields["sure"].widget = forms.CheckboxInput()
    return show(request, competition, "files", context)


def remove(request: HttpRequest, competition: Competition, *, file_id: int) -> HttpResponseBase:
    """Ask, then remove."""
    entry = public_files(competition.current_round).filter(pk=file_id).first()
    if entry is None:
        raise Http404("There is no such file.")
    view = button(
        "files",
        lambda request, *_, **shown: organize.remove_file(entry, by=signed_in(request)),
        told=f"{entry.name} is removed.",
        asks="file_remove",
    )
    return view(request, competition, entry=entry)
