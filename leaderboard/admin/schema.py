"""The step "Prediction file": which columns a submission has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from leaderboard import organize, queries
from leaderboard.admin import questions
from leaderboard.admin.columns import read_columns, write_columns
from leaderboard.admin.questions import Question
from leaderboard.admin.steps import is_draft, next_url, say, show, warn, why_fixed
from leaderboard.errors import Refused
from leaderboard.models import Competition, Round
from scoring.errors import ParameterError, SolutionError
from scoring.predictions import Guessed, Proposal, Schema, preview, propose, propose_with

if TYPE_CHECKING:
    from leaderboard.admin.competition import CompetitionAdmin

MOST_NAMED: Final = 5


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
        "5: sun, rain” for the best first; with spaces between, or “labels by semicolons”.",
    )
    asked = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        asked = questions.read((data if data is not None else kwargs["initial"]).get("asked", ""))
        if data is not None:
            data = {**data, "columns": _answered(data, asked)}
        super().__init__(data, **kwargs)
        text = self["columns"].value() or ""
        lines = max(5, min(text.count("\n") + 2, 20))
        self.fields["columns"].widget.attrs["rows"] = lines
        self.questions = tuple(each for each in asked if questions.is_asked(text, each))
        for question in self.questions:
            self.fields[question.field] = forms.ChoiceField(
                label=_what_are(question.names),
                help_text=f"All rows of the sample say “{question.only}”, which doesn’t tell.",
                choices=question.choices,
                widget=forms.RadioSelect,
                required=False,
            )

    @property
    def open_fields(self) -> list[forms.BoundField]:
        """Return the fields of the questions."""
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


def _answered(data: Mapping[str, str], asked: tuple[Question, ...]) -> str:
    """Return the lines as they were sent, with those answers that were among the choices."""
    answers = {each.number: data.get(each.field, "") for each in asked}
    allowed = {
        each.number: answers[each.number]
        for each in asked
        if answers[each.number] in dict(each.choices)
    }
    return questions.answered(data.get("columns", ""), allowed)


def _what_are(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"What is “{names[0]}”?"
    shown = ", ".join(f"“{name}”" for name in names[:-1][:MOST_NAMED])
    rest = len(names) - MOST_NAMED
    return f"What are {shown} and {f'{rest} more' if rest > 1 else f'“{names[-1]}”'}?"


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, competition: Competition, owner: CompetitionAdmin) -> HttpResponse:
    """Show the columns, take new ones, or propose them from a sample file."""
    round = competition.current_round
    context: dict[str, Any] = {"form": _form(round), "sample_form": SampleForm()}
    if request.method == "POST" and is_draft(competition):
        if "propose" in request.POST:
            context |= _propose(request)
        else:
            form = context["form"] = SchemaForm(request.POST.dict())
            if form.is_valid() and (done := _save(request, competition, owner, form)):
                return done
    context["fixed"] = why_fixed(round)
    context["schema"] = queries.schema_of(round)
    return show(request, owner, competition, "schema", context)


def _save(
    request: HttpRequest, competition: Competition, owner: CompetitionAdmin, form: SchemaForm
) -> HttpResponse | None:
    try:
        withdrew = organize.change_schema(competition.current_round, form.cleaned_data["schema"])
    except Refused as refused:
        form.add_error(None, str(refused))
        return None
    owner.log_change(request, competition, "Columns of the prediction file saved.")
    say(request, "The columns are saved.")
    if withdrew:
        warn(request, "The solution was sealed for the old columns: upload it again.")
    return redirect(next_url(competition, "schema"))


def _propose(request: HttpRequest) -> dict[str, Any]:
    """Return a filled form that is not saved: the organizer looks at it first."""
    form = SampleForm(request.POST, request.FILES)
    if not form.is_valid():
        return {"sample_form": form}
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
        return {
            "sample_form": form,
            "wrong_file": read.name,
            "problems": error.problems,
            "problem_count": error.total,
        }
    asked = questions.ask(proposal)
    initial = {
        "id_column": proposal.id_column,
        "columns": questions.lines(proposal, asked),
        "asked": questions.write(asked),
    }
    return {
        "form": SchemaForm(initial=initial),
        "proposed": _advice(proposal),
        "incomplete": [each.name for each in proposal.columns if _shows_one_class(each)],
        "preview": rows,
    }


def _advice(proposal: Proposal) -> str:
    """Return what to do with a proposal."""
    if any(each.is_open for each in proposal.columns):
        return "The sample leaves something open: answer that, look at every line, then save."
    if any(each.column.classes for each in proposal.columns):
        return (
            "The sample shows some classes and perhaps not all. Look at every line, fix it, then "
            "save."
        )
    return "Look at every line, fix it, then save."


def _shows_one_class(column: Guessed) -> bool:
    (first, *_) = column.guesses
    return first.kind == "label" and len(first.classes) == 1 and not column.is_open


def _form(round: Round) -> SchemaForm:
    schema = queries.schema_of(round)
    if schema is None:
        return SchemaForm(initial={"id_column": "id"})
    return SchemaForm(initial={"id_column": schema.id_column, "columns": write_columns(schema)})
