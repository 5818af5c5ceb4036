"""The form of metric and mechanism, made from what the registries declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms

from leaderboard import organize
from leaderboard.models import Board
from leaderboard.queries import schema_of
from scoring import mechanisms, metrics
from scoring.errors import ParameterError
from scoring.mechanisms.base import Advice, Mechanism
from scoring.metrics import Metric
from scoring.parameters import Parameter, Value, show
from scoring.predictions import Schema
from scoring.predictions.schema import Kind

REGISTRIES: dict[str, Mapping[str, Any]] = {
    "metric": metrics.METRICS,
    "mechanism": mechanisms.MECHANISMS,
}


Choosable = Metric | Mechanism[Any]


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
}


class ScoringForm(forms.Form):
    """All parameters of all choices have fields; only those of the chosen ones are read."""

    metric = forms.ChoiceField(error_messages={"required": "Choose a metric."})
    mechanism = forms.ChoiceField(error_messages={"required": "Choose a mechanism."})

    def __init__(self, board: Board, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.board = board
        for kind, registry in REGISTRIES.items():
            field = self.fields[kind]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
            field.choices = [(name, each.title) for name, each in registry.items()]
            chosen = getattr(board, kind)
            self.initial[kind] = chosen
            for name, each in registry.items():
                given = getattr(board, f"{kind}_parameters") if name == chosen else {}
                for parameter in each.parameters:
                    field = _field(parameter, self._suggested(parameter) | given)
                    self.fields[_key(kind, name, parameter)] = field

    @cached_property
    def metric_groups(self) -> list[Group]:
        """Return the metrics that fit the columns, and one that is chosen and doesn't.

        Those that are made for the columns' kind stand before those that take it as well.
        """
        fitting = [each for each in self._metrics if not each.misfit or each.checked]
        fitting.sort(key=lambda choice: self._fits_as(metrics.get(choice.name)))
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
        """Return how many they are."""
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

    def _fits_as(self, metric: Metric) -> int:
        """Return 0 where the columns are of the kind that the metric is made for, else 1."""
        kinds = {column.kind for column in self._schema.columns} if self._schema else set()
        return 0 if metric.takes[0] in kinds else 1

    def _suggested(self, parameter: Parameter) -> dict[str, str]:
        """Suggest that as many places count as a ranking of the schema has."""
        most = [column.most for column in self._schema.columns] if self._schema else []
        if parameter.name != "k" or not most or most[0] is None:
            return {}
        return {parameter.name: str(most[0])}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for kind in REGISTRIES:
            if data.get(kind):
                data[f"{kind}_parameters"] = self._parameters(kind, data[kind])
        if not self.errors:
            self._check_together(data)
        return data

    def scoring(self) -> organize.Scoring:
        """Return what the valid form says."""
        names = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
        return organize.Scoring(**{name: self.cleaned_data[name] for name in names})

    def _choices(self, kind: str) -> list[Choice]:
        return [self._choice(kind, each) for each in REGISTRIES[kind].values()]

    def _choice(self, kind: str, each: Choosable) -> Choice:
        return Choice(
            name=each.name,
            title=each.title,
            description=each.description,
            advice=each.advice if isinstance(each, Mechanism) else None,
            limits=_limits_of(each),
            misfit=self._misfit(each) if isinstance(each, Metric) else "",
            checked=self[kind].value() == each.name,
            fields=tuple(self[_key(kind, each.name, p)] for p in each.parameters),
        )

    def _misfit(self, metric: Metric) -> str:
        if self._schema is None:
            return ""
        try:
            metric.check(self._schema, None, metric.parse({}))
        except ParameterError as error:
            return error.message
        return ""

    def _parameters(self, kind: str, name: str) -> dict[str, str]:
        """Return the chosen one's parameters as texts; put every error beside its own field."""
        texts = dict[str, str]()
        chosen: Choosable = REGISTRIES[kind][name]
        for parameter in chosen.parameters:
            key = _key(kind, name, parameter)
            try:
                texts[parameter.name] = written(parameter.parse(self.cleaned_data.get(key)))
            except ParameterError as error:
                self.add_error(key, error.message)
        return texts

    def _check_together(self, data: dict[str, Any]) -> None:
        metric = metrics.get(data["metric"])
        mechanism = mechanisms.get(data["mechanism"])
        try:
            params = metric.parse(data["metric_parameters"])
            if self._schema is not None:
                metric.check(self._schema, None, params)
        except ParameterError as error:
            self._add(error, "metric", metric)
        try:
            self._check_mechanism(mechanism, metric, data["mechanism_parameters"])
        except ParameterError as error:
            self._add(error, "mechanism", mechanism)

    def _check_mechanism(
        self, mechanism: Mechanism[Any], metric: Metric, raw: dict[str, str]
    ) -> None:
        params = mechanism.parse(raw)
        if reason := metric.allows(mechanism):
            raise ParameterError("mechanism", reason)
        holdout = self.board.round.active_holdout
        if holdout is not None:
            mechanism.check(params, metric, organize.effective_rows(holdout))

    def _add(self, error: ParameterError, kind: str, chosen: Choosable) -> None:
        """Put an error beside the parameter that is to blame, else beside the choice."""
        for parameter in chosen.parameters:
            if parameter.name == error.field:
                self.add_error(_key(kind, chosen.name, parameter), error.message)
                return
        self.add_error(kind, error.message)


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


def _limits_of(each: Choosable) -> str:
    """Return what a metric's scores can't carry, and which mechanisms can't show it."""
    if not isinstance(each, Metric) or each.is_mean:
        return ""
    return " ".join(filter(None, (each.guarantee, each.allows(*mechanisms.MECHANISMS.values()))))


def _key(kind: str, name: str, parameter: Parameter) -> str:
    return f"{kind}-{name}-{parameter.name}"


def _field(parameter: Parameter, given: Mapping[str, str]) -> forms.Field:
    """Make the field, not required: what is empty is judged only if its owner is chosen."""
    field: forms.Field
    if parameter.kind == "choice":
        titles = parameter.choice_titles or parameter.choices
        choices = list(zip(parameter.choices, titles, strict=True))
        field = forms.ChoiceField(choices=choices, help_text=parameter.help)
    else:
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        field = forms.CharField(help_text=f"{parameter.help} {_limits(parameter)}", widget=widget)
    field.label, field.required = parameter.title, False
    field.initial = given.get(parameter.name, written(parameter.default))
    return field


def _limits(parameter: Parameter) -> str:
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f"From {show(low)} to {show(high)}."
    if low is not None:
        return f"At least {show(low)}."
    return f"At most {show(high)}." if high is not None else ""


def written(value: Value) -> str:
    """Return a value as people write it; `parse` turns it back exactly."""
    return value if isinstance(value, str) else show(value)
