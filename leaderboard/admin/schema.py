"""The step "Prediction file": which columns a submission has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from leaderboard import setup
from leaderboard.admin.columns import read_columns, write_columns
from leaderboard.admin.steps import is_draft, next_url, say, show, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition
from scoring.errors import ParameterError, Problem, SolutionError
from scoring.predictions import Preview, Schema, infer_schema, preview

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin


class SchemaForm(forms.Form):
    """The id column, and one line for each column to predict."""

    id_column = forms.CharField(label="Id column", strip=True)
    columns = forms.CharField(
        label="Columns to predict",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "class": "code"}),
        help_text="One line each: “name: label: cat, dog”, “name: probability” or “name: number”. "
        "A label is one of the classes listed, compared as text. A probability is from 0 to 1, and "
        "the solution has 0 or 1 for what happened; one for each class is a line for each class. "
        "Several labels in a cell: “name: labels: sun, rain” for a set, “name: ranking of 5: sun, "
        "rain” for the best first; with spaces between, or “labels by semicolons”.",
    )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return data
        try:
            columns = read_columns(data["columns"])
            data["schema"] = Schema(data["id_column"], columns)
        except ParameterError as error:
            self.add_error("columns", error.message)
        return data


class SampleForm(forms.Form):
    """A sample submission to take the columns from."""

    sample = forms.FileField(
        label="Sample submission",
        help_text="A file as participants would upload it. It is read for its columns and not "
        "kept.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Shows the columns, takes new ones, or proposes them from a sample file."""
    context: dict[str, Any] = {"form": _form(competition), "sample_form": SampleForm()}
    if request.method == "POST" and is_draft(competition):
        if "propose" in request.POST:
            context |= _propose(request, competition)
        else:
            form = context["form"] = SchemaForm(request.POST)
            if form.is_valid() and (done := _save(request, competition, owner, form)):
                return done
    context["fixed"] = why_fixed(competition)
    context["schema"] = _schema(competition)
    return show(request, owner, competition, "schema", context)


def _save(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, form: SchemaForm
) -> HttpResponse | None:
    try:
        withdrew = setup.change_schema(competition, form.cleaned_data["schema"])
    except Refused as refused:
        form.add_error(None, str(refused))
        return None
    owner.log_change(request, competition, "Columns of the prediction file saved.")
    say(request, "The columns are saved.")
    if withdrew:
        warn(request, "The solution was sealed for the old columns: upload it again.")
    return redirect(next_url(competition, "schema"))


def _propose(request: HttpRequest, competition: Competition) -> dict[str, Any]:
    """A filled form that is not saved: the organizer looks at it first."""
    form = SampleForm(request.POST, request.FILES)
    if not form.is_valid():
        return {"sample_form": form}
    file = form.cleaned_data["sample"]
    problems: tuple[Problem, ...]
    try:
        schema = infer_schema(file)
        file.seek(0)
        rows: Preview = preview(file, schema)
    except SolutionError as error:
        problems = error.problems
        return {"sample_form": form, "problems": problems, "problem_count": error.total}
    proposed = {"id_column": schema.id_column, "columns": write_columns(schema)}
    return {"form": SchemaForm(initial=proposed), "proposed_from": file.name, "preview": rows}


def _form(competition: Competition) -> SchemaForm:
    schema = _schema(competition)
    if schema is None:
        return SchemaForm(initial={"id_column": "id"})
    return SchemaForm(initial={"id_column": schema.id_column, "columns": write_columns(schema)})


def _schema(competition: Competition) -> Schema | None:
    return Schema.from_json(competition.schema) if competition.schema else None
