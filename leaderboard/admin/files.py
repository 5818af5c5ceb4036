"""The step "Files": what participants download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin.steps import frame, say, show, url_of
from leaderboard.errors import Refused
from leaderboard.models import Competition, FileRole, Round
from leaderboard.organize.disclosure import find_labels
from leaderboard.queries import public_files
from scoring.errors import SolutionError

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


class FileForm(forms.Form):
    """A file to publish. What looks like hidden labels is published only when said twice."""

    file = forms.FileField(label="File", max_length=120)
    role = forms.ChoiceField(label="What it is", choices=FileRole.choices, initial=FileRole.TRAIN)
    description = forms.CharField(label="Description", max_length=300, required=False)
    sure = forms.BooleanField(
        label="It holds no hidden labels: publish it", required=False, widget=forms.HiddenInput
    )

    def __init__(self, round: Round, *args: Any) -> None:
        super().__init__(*args)
        self.round = round
        if not public_files(round).filter(role=FileRole.SAMPLE).exists():
            self.initial["role"] = FileRole.SAMPLE

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        file = data.get("file")
        if file is None or data.get("sure"):
            return data
        if reason := find_labels(self.round, file, data.get("role", "")):
            self.add_error("file", reason)
            self.fields["sure"].widget = forms.CheckboxInput()
        return data


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """List the files and take new ones."""
    round = competition.current_round
    form, problems = FileForm(round), None
    if request.method == "POST":
        form = FileForm(round, request.POST, request.FILES)
        if form.is_valid():
            data = form.cleaned_data
            try:
                entry = organize.add_file(
                    round, data["file"], role=data["role"], description=data["description"]
                )
            except Refused as refused:
                form.add_error("file", str(refused))
            except SolutionError as error:
                form.add_error("file", "This file can't be the sample submission.")
                problems = error
            else:
                owner.log_change(request, competition, f"File {entry.name} added.")
                say(request, f"{entry.name} is published to participants.")
                return redirect(url_of(competition, "files"))
    context = {
        "form": form,
        "files": public_files(round),
        "problems": problems.problems if problems else (),
        "problem_count": problems.total if problems else 0,
    }
    return show(request, owner, competition, "files", context)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, *, file_id: int
) -> HttpResponse:
    """Ask, then remove."""
    entry = public_files(competition.current_round).filter(pk=file_id).first()
    if entry is None:
        raise Http404("There is no such file.")
    refusal = ""
    if request.method == "POST":
        try:
            organize.remove_file(entry)
        except Refused as refused:
            refusal = str(refused)
        else:
            owner.log_change(request, competition, f"File {entry.name} removed.")
            say(request, f"{entry.name} is removed.")
            return redirect(url_of(competition, "files"))
    shared = owner.admin_site.each_context(request) | frame(competition, "files")
    context = shared | {"entry": entry, "refusal": refusal}
    return render(request, "admin/competition/file_remove.html", context)
