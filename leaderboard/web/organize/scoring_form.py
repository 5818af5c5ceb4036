"""The form of metric and mechanism, made from what the registries declare."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Board
from leaderboard.organize.scoring import REGISTRIES, written
from leaderboard.queries import schema_of
from scoring import mechanisms, metrics
from scoring.errors import ParameterError
from scoring.mechanisms.base import Advice, Mechanism
from scoring.metrics import Metric
from scoring.parameters import Parameter, show
from scoring.predictions import Schema
from scoring.predictions.schema import Kind
from scoring.proposals import PREFERRED


@dataclass(frozen=True)
class Choice:
    """A metric or mechanism as it is offered: radio button, words, fields of its parameters."""

    name: str
    title: str
    description: str
    advice: Advice | None
    limits: str
    misfit: str
    checked: bool
    fields: tuple[forms.BoundField, ...]


@dataclass(frozen=True)
class Group:
    """Choices under one heading."""

    title: str
    about: str
    choices: tuple[Choice, ...]


_CERTIFIED = (
    "Means over rows",
    "Scores carry a guarantee, and every mechanism may show them.",
)
_UNCERTIFIED = (
    "Other metrics",
    "Scores carry no guarantee, and some mechanisms can’t show them.",
)
_TAKES: dict[Kind, str] = {
    "label": "For labels",
    "probability": "For probabilities",
    "number": "For numbers",
    "labels": "For several labels in a cell",
    "ranking": "For rankings",
    "text": "For answers in words",
}


class ScoringForm(forms.Form):
    """All parameters of all choices have fields; only those of the chosen ones are read."""

    metric = forms.ChoiceField(error_messages={"required": "Choose a metric."})
    mechanism = forms.ChoiceField(error_messages={"required": "Choose a mechanism."})

    def __init__(self, board: Board, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.board = board
        # As many places are suggested to count as a ranking of the columns has.
        most = self._schema.columns[0].most if self._schema else None
        for kind, registry in REGISTRIES.items():
            field = self.fields[kind]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
            field.choices = [(name, each.title) for name, each in registry.items()]
            chosen = self.initial[kind] = getattr(board, kind)
            if kind == "mechanism" and not chosen:
                self.initial[kind] = PREFERRED[0]
            for name, each in registry.items():
                given = getattr(board, f"{kind}_parameters") if name == chosen else {}
                for parameter in each.parameters:
                    suggested = most if most and parameter.name == "k" else parameter.default
                    initial = given.get(parameter.name, written(suggested))
                    self.fields[_key(kind, name, parameter.name)] = _field(parameter, initial)

    @cached_property
    def metric_groups(self) -> list[Group]:
        """Return the metrics that fit the columns, and one that is chosen and doesn't.

        Those that are made for the columns' kind stand before those that take it as well.
        """
        kinds = {column.kind for column in self._schema.columns} if self._schema else set()
        fitting = [each for each in self._metrics if not each.misfit or each.checked]
        fitting.sort(key=lambda choice: metrics.get(choice.name).takes[0] not in kinds)
        return _grouped(
            fitting, lambda choice: _UNCERTIFIED if choice.limits else _CERTIFIED, [_CERTIFIED]
        )

    @cached_property
    def other_metrics(self) -> list[Group]:
        """Return metrics for other columns, with why they don't fit."""
        others = [each for each in self._metrics if each.misfit and not each.checked]
        return _grouped(others, lambda choice: (_TAKES[metrics.get(choice.name).takes[0]], ""), [])

    @property
    def other_count(self) -> int:
        return sum(len(group.choices) for group in self.other_metrics)

    @property
    def mechanisms(self) -> list[Choice]:
        return self._choices("mechanism")

    @cached_property
    def _metrics(self) -> list[Choice]:
        return self._choices("metric")

    @cached_property
    def _schema(self) -> Schema | None:
        return schema_of(self.board.round)

    def scoring(self) -> organize.Scoring:
        """Return what was chosen, with its parameters as they were typed."""
        chosen: dict[str, Any] = {}
        for kind, registry in REGISTRIES.items():
            name = chosen[kind] = self.cleaned_data[kind]
            chosen[f"{kind}_parameters"] = {
                each.name: self.cleaned_data.get(_key(kind, name, each.name), "")
                for each in registry[name].parameters
            }
        return organize.Scoring(**chosen)

    def rename(self, refused: Refused) -> Refused:
        """Return the refusal with this form's names for the parameters that it names."""
        errors = []
        for error in refused.errors:
            kind, _, parameter = error["field"].partition("_parameters.")
            name = _key(kind, self.cleaned_data[kind], parameter) if parameter else kind
            errors.append(error | {"field": name})
        return Refused(refused.code, errors=errors)

    def _choices(self, kind: str) -> list[Choice]:
        choices = []
        for each in REGISTRIES[kind].values():
            limits = misfit = ""
            if isinstance(each, Metric):
                misfit = self._misfit(each)
                if not each.is_mean:
                    refused = each.allows(*mechanisms.MECHANISMS.values())
                    limits = " ".join(filter(None, (each.guarantee, refused)))
            choices.append(
                Choice(
                    name=each.name,
                    title=each.title,
                    description=each.description,
                    advice=each.advice if isinstance(each, Mechanism) else None,
                    limits=limits,
                    misfit=misfit,
                    checked=self[kind].value() == each.name,
                    fields=tuple(self[_key(kind, each.name, p.name)] for p in each.parameters),
                )
            )
        return choices

    def _misfit(self, metric: Metric) -> str:
        if self._schema is None:
            return ""
        try:
            metric.check_columns(self._schema)
        except ParameterError as error:
            return error.message
        return ""


def _grouped(
    choices: list[Choice],
    heading: Callable[[Choice], tuple[str, str]],
    first: list[tuple[str, str]],
) -> list[Group]:
    """Group the choices by heading: those in `first`, then others in the order they come."""
    by_heading: dict[tuple[str, str], list[Choice]] = {each: [] for each in first}
    for choice in choices:
        by_heading.setdefault(heading(choice), []).append(choice)
    return [Group(*each, tuple(found)) for each, found in by_heading.items() if found]


def _key(kind: str, name: str, parameter: str) -> str:
    return f"{kind}-{name}-{parameter}"


def _field(parameter: Parameter, initial: str) -> forms.Field:
    """Make the field, not required: what is empty is judged only if its owner is chosen."""
    field: forms.Field
    if parameter.kind == "choice":
        titles = parameter.choice_titles or parameter.choices
        choices = list(zip(parameter.choices, titles, strict=True))
        field = forms.ChoiceField(choices=choices, help_text=parameter.help)
    elif parameter.kind == "text":
        attrs = {
            "autocomplete": "off",
            "spellcheck": "false",
            "maxlength": parameter.maximum,
            "class": "formula" if parameter.default else "",
        }
        field = forms.CharField(help_text=parameter.help, widget=forms.TextInput(attrs=attrs))
    else:
        low, high = parameter.minimum, parameter.maximum
        if low is not None and high is not None:
            limits = f" From {show(low)} to {show(high)}."
        elif low is not None:
            limits = f" At least {show(low)}."
        else:
            limits = f" At most {show(high)}." if high is not None else ""
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        field = forms.CharField(help_text=f"{parameter.help}{limits}", widget=widget)
    field.label, field.required, field.initial = parameter.title, False, initial
    return field
