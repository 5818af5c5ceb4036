"""The step "Files": what participants download."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.files.base import File
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from leaderboard import organize
from leaderboard.admin.steps import frame, say, show, url_of
from leaderboard.errors import Refused
from leaderboard.models import Competition, CompetitionFile, FileRole
from scoring.errors import SolutionError
from scoring.predictions import Schema
from scoring.predictions.schema import USAGE_NAMES

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

_HEADER_BYTES = 64 * 1024


class FileForm(forms.Form):
    """A file to publish. What looks like hidden labels is published only when said twice."""

    file = forms.FileField(label="File", max_length=120)
    role = forms.ChoiceField(label="What it is", choices=FileRole.choices, initial=FileRole.TRAIN)
    description = forms.CharField(label="Description", max_length=300, required=False)
    sure = forms.BooleanField(
        label="It holds no hidden labels: publish it", required=False, widget=forms.HiddenInput
    )

    def __init__(self, competition: Competition, *args: Any) -> None:
        super().__init__(*args)
        self.competition = competition
        if not competition.files.filter(role=FileRole.SAMPLE).exists():
            self.initial["role"] = FileRole.SAMPLE

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        file = data.get("file")
        if file is None or data.get("sure"):
            return data
        reason = _gives_away(_header(file), data.get("role", ""), self.competition)
        if reason:
            self.add_error("file", reason)
            self.fields["sure"].widget = forms.CheckboxInput()
        return data


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Lists the files and takes new ones."""
    form, problems = FileForm(competition), None
    if request.method == "POST":
        form = FileForm(competition, request.POST, request.FILES)
        if form.is_valid():
            try:
                entry = _add(competition, form)
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
        "files": competition.files.order_by("name"),
        "problems": problems.problems if problems else (),
        "problem_count": problems.total if problems else 0,
    }
    return show(request, owner, competition, "files", context)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, *, file_id: int
) -> HttpResponse:
    """Asks, then removes."""
    entry = competition.files.filter(pk=file_id).first()
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


def _add(competition: Competition, form: FileForm) -> CompetitionFile:
    data = form.cleaned_data
    return organize.add_file(
        competition, data["file"], role=data["role"], description=data["description"]
    )


def _header(file: File[bytes]) -> set[str]:
    """The names in the first line, in lower case; of a file that isn't CSV, nothing useful."""
    file.seek(0)
    first = (file.read(_HEADER_BYTES).splitlines() or [b""])[0]
    file.seek(0)
    cells = next(csv.reader([first.decode("utf-8-sig", "replace")]), [])
    return {cell.strip().casefold() for cell in cells}


def _gives_away(header: set[str], role: str, competition: Competition) -> str:
    """Why the file looks as if it held the hidden labels; empty if it doesn't."""
    if not competition.schema:
        return ""
    schema = Schema.from_json(competition.schema)
    columns = {column.name.casefold() for column in schema.columns}
    if header & set(USAGE_NAMES) and columns <= header:
        return (
            "This looks like the solution: it has the columns to predict and a column that splits "
            "the rows. Files on this page are published. The solution has its own page."
        )
    shown = sorted(columns & header)
    if role == FileRole.TEST and shown:
        return (
            f"Test data are published without labels, and this file has a column “{shown[0]}”, "
            "which is to be predicted."
        )
    return ""
