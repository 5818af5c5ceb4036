"""The page "Prediction file": which columns a submission has."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import organize, queries
from leaderboard.access import signed_in
from leaderboard.models import Competition
from leaderboard.web.organize import questions
from leaderboard.web.organize.column_lines import read_columns, write_columns
from leaderboard.web.organize.frame import next_url, refusals, show, why_fixed
from scoring.errors import ParameterError, SolutionError
from scoring.predictions import Proposal, Schema, preview, propose, propose_with


class SchemaForm(forms.Form):
    """The id column, and one line for each column to predict.

    questions: what a proposal leaves open; they have fields as long as a line refers to them.
    """

    id_column = forms.CharField(label="Id column", strip=True)
    columns = forms.CharField(
        label="Columns to predict",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "class": "code"}),
        help_text="One line each: “name: label: cat, dog”, “name: probability” or “name: number”. "
        "A label is one of the classes listed, compared as text; one with commas or quotes is "
        'written as in CSV: “city: label: "New York, NY", Rome”. A probability is from 0 to 1, '
        "and the solution has 0 or 1 for what happened; one for each class is a line for each "
        "class. Several labels in a cell: “name: labels: sun, rain” for a set, “name: ranking of "
        "5: sun, rain” for the best first; with spaces between, or “labels by semicolons”. Answers "
        "of language models: “name: text”, or “name: text of 5” for up to five runs.",
    )
    asked = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        asked = questions.read((data if data is not None else kwargs["initial"]).get("asked", ""))
        if data is not None:
            # With those answers that were among the choices in place of their questions.
            given = ((each, data.get(each.field, "")) for each in asked)
            allowed = {each.number: kind for each, kind in given if kind in dict(each.choices)}
            data = {**data, "columns": questions.answered(data.get("columns", ""), allowed)}
        super().__init__(data, **kwargs)
        text = self["columns"].value() or ""
        lines = max(5, min(text.count("\n") + 2, 20))
        self.fields["columns"].widget.attrs["rows"] = lines
        self.questions = tuple(each for each in asked if questions.is_asked(text, each))
        for question in self.questions:
            self.fields[question.field] = forms.ChoiceField(
                label=question.title,
                help_text=f"All rows of the sample say “{question.only}”: several kinds fit.",
                choices=question.choices,
                widget=forms.RadioSelect,
                required=False,
            )

    @property
    def open_fields(self) -> list[forms.BoundField]:
        return [self[question.field] for question in self.questions]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for question in self.questions:
            self.add_error(question.field, "Choose what it is.")
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
    more = forms.FileField(
        label="A table with all classes",
        required=False,
        help_text="Training data, for example, if the sample doesn’t show them all. Columns of the "
        "same names are read, and nothing is kept.",
    )


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show the columns, take new ones, or propose them from a sample file."""
    round = competition.current_round
    schema = queries.schema_of(round)
    initial = {"id_column": "id"}
    if schema is not None:
        initial = {"id_column": schema.id_column, "columns": write_columns(schema)}
    context: dict[str, Any] = {
        "form": SchemaForm(initial=initial),
        "sample_form": SampleForm(),
        "fixed": why_fixed(round),
        "schema": schema,
    }
    if "propose" in request.POST:
        _propose(request, context)
    elif request.method == "POST":
        form = context["form"] = SchemaForm(request.POST.dict())
        if form.is_valid():
            with refusals(form):
                columns = form.cleaned_data["schema"]
                withdrew = organize.change_schema(round, columns, by=signed_in(request))
                messages.success(request, "The columns are saved.")
                if withdrew:
                    old = "The solution was sealed for the old columns: upload it again."
                    messages.warning(request, old)
                return redirect(next_url(competition, "columns"))
    return show(request, competition, "columns", context)


def _propose(request: HttpRequest, context: dict[str, Any]) -> None:
    """Fill the form from a sample, without saving it: the organizer looks at it first."""
    form = context["sample_form"] = SampleForm(request.POST, request.FILES)
    if not form.is_valid():
        return
    file, more = form.cleaned_data["sample"], form.cleaned_data["more"]
    read = file
    try:
        proposal = propose(file)
        file.seek(0)
        rows = preview(file, proposal.schema)
        if more is not None:
            read = more
            proposal = propose_with(proposal, more)
    except SolutionError as error:
        context.update(wrong_file=read.name, problems=error.problems, problem_count=error.total)
        return
    asked = questions.ask(proposal)
    initial = {
        "id_column": proposal.id_column,
        "columns": questions.lines(proposal, asked),
        "asked": questions.write(asked),
    }
    context.update(
        form=SchemaForm(initial=initial),
        proposed=_advice(proposal),
        incomplete=[
            each.name
            for each in proposal.columns
            if each.guesses[0].kind == "label"
            and len(each.guesses[0].classes) == 1
            and not each.is_open
        ],
        preview=rows,
    )


def _advice(proposal: Proposal) -> str:
    """Return what to do with a proposal."""
    if any(each.is_open for each in proposal.columns):
        return "The sample leaves something open: answer that, check every line, then save."
    if any(each.column.classes for each in proposal.columns):
        return "The sample may not show all classes. Check every line, fix it, then save."
    return "Check every line, fix it, then save."
