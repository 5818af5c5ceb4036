"""How a board scores: metric and mechanism, checked together wherever they are chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from django.db import transaction

from leaderboard.errors import refuse_fields
from leaderboard.models import Board, EventKind, Holdout, Round, User
from leaderboard.organize.changes import changed
from leaderboard.organize.drafts import locked_draft, record_draft, withdraw
from leaderboard.pipeline.queue import enqueue_baselines
from scoring import mechanisms, metrics
from scoring.errors import ParameterError
from scoring.mechanisms.base import Mechanism
from scoring.metrics import Metric
from scoring.parameters import Value, show
from scoring.predictions import Schema
from scoring.proposals import choose_mechanism

Choosable = Metric | Mechanism[Any]
REGISTRIES: Final[Mapping[str, Mapping[str, Choosable]]] = {
    "metric": metrics.METRICS,
    "mechanism": mechanisms.MECHANISMS,
}


@dataclass(frozen=True)
class Scoring:
    """How a board scores: names in the registries, parameters as their JSON texts."""

    metric: str
    metric_parameters: dict[str, str]
    mechanism: str
    mechanism_parameters: dict[str, str]


@dataclass(frozen=True)
class RowCounts:
    """How many plain rows each set of the solution counts as; public knowledge."""

    public: int
    private: int


def effective_rows(holdout: Holdout) -> RowCounts:
    """Return what a mechanism asks of the holdout's size."""
    return RowCounts(holdout.effective_public_rows, holdout.effective_private_rows)


def change_scoring(board: Board, scoring: Scoring, *, by: User | None = None) -> bool:
    """Write metric and mechanism; return whether that withdrew a solution.

    A solution is checked by the metric that it was sealed under. Raises Refused unless the
    competition is a draft, and where `check_scoring` does.
    """
    with transaction.atomic():
        round = locked_draft(board.round, by)
        checked = check_scoring(round, scoring)
        after = vars(checked)
        before = {name: getattr(board, name) for name in after}
        for name, value in after.items():
            setattr(board, name, value)
        board.save(update_fields=list(after))
        told = [name for name in after if before[name] != after[name]]
        if not told:
            return False
        transaction.on_commit(partial(enqueue_baselines, round.pk))
        data = changed(before, after, told)
        record_draft(round, EventKind.SCORING_CHANGED, by, data, board=board.uid)
        return not {"metric", "metric_parameters"}.isdisjoint(told) and withdraw(round, by)


def complete_scoring(
    board: Board,
    metric: str,
    metric_parameters: Mapping[str, str] | None = None,
    mechanism: str = "",
    mechanism_parameters: Mapping[str, str] | None = None,
) -> Scoring:
    """Return a scoring whose mechanism may be left out: the board's own then, or a default.

    Parameters that are left out stay where their owner does.
    """
    known = metrics.METRICS.get(metric)
    default = choose_mechanism(known).name if known else ""
    chosen = {"metric": metric, "mechanism": mechanism or board.mechanism or default}
    kept = {
        kind: getattr(board, f"{kind}_parameters") if name == getattr(board, kind) else {}
        for kind, name in chosen.items()
    }
    return Scoring(
        metric=metric,
        metric_parameters=dict(kept["metric"] if metric_parameters is None else metric_parameters),
        mechanism=chosen["mechanism"],
        mechanism_parameters=dict(
            kept["mechanism"] if mechanism_parameters is None else mechanism_parameters
        ),
    )


def check_scoring(round: Round, scoring: Scoring) -> Scoring:
    """Return the scoring with all parameters as they are stored.

    Raises Refused naming all that is wrong: `metric`, `mechanism`, or a parameter of theirs, such
    as `mechanism_parameters.steps`. What there is of columns and solution has to fit.
    """
    wrong = dict[str, dict[str, str]]()
    metric = _read_parameters(scoring, "metric", wrong)
    mechanism = _read_parameters(scoring, "mechanism", wrong)
    refuse_fields(wrong)
    checked = replace(scoring, metric_parameters=metric, mechanism_parameters=mechanism)
    holdout = round.active_holdout
    schema = Schema.from_json(round.schema) if round.schema else None
    rows = effective_rows(holdout) if holdout else None
    tests: dict[str, Callable[[], str]] = {
        "metric": lambda: check_metric_fits(checked, schema),
        "mechanism": lambda: check_mechanism_fits(checked, rows, hidden_teams(round)),
    }
    for kind, test in tests.items():
        try:
            test()
        except ParameterError as error:
            is_parameter = error.field in getattr(checked, f"{kind}_parameters")
            blamed = f"{kind}_parameters.{error.field}" if is_parameter else kind
            wrong[blamed] = {"message": error.message}
    refuse_fields(wrong)
    return checked


def _read_parameters(
    scoring: Scoring, kind: str, wrong: dict[str, dict[str, str]]
) -> dict[str, str]:
    """Return all parameters as texts, each as it is stored; note in `wrong` what is not one."""
    chosen = REGISTRIES[kind].get(getattr(scoring, kind))
    if chosen is None:
        wrong[kind] = {"variant": "not_chosen", "kind": kind}
        return {}
    name, texts = f"{kind}_parameters", dict[str, str]()
    given = dict(getattr(scoring, name))
    for each in chosen.parameters:
        try:
            texts[each.name] = written(each.parse(given.pop(each.name, written(each.default))))
        except ParameterError as error:
            wrong[f"{name}.{each.name}"] = {"message": error.message}
    wrong |= {f"{name}.{left}": {"variant": "no_such_parameter"} for left in given}
    return texts


def check_metric_fits(chosen: Board | Scoring, schema: Schema | None) -> str:
    """Return the metric's title. Raises ParameterError where it doesn't fit the columns."""
    metric = metrics.get(chosen.metric)
    parameters = metric.parse(chosen.metric_parameters)
    if schema is not None:
        metric.check(schema, None, parameters)
    return f"{metric.title}."


def hidden_teams(round: Round) -> int | None:
    """Return how many teams a board that is hidden until the end can have; None for any other."""
    return round.team_limit if round.is_hidden else None


def check_mechanism_fits(
    chosen: Board | Scoring, counts: RowCounts | None, apart: int | None = None
) -> str:
    """Return the mechanism's title. Raises ParameterError where it fits neither metric nor rows.

    apart: so many teams may learn nothing of each other by their answers.
    """
    mechanism = mechanisms.get(chosen.mechanism)
    parameters: Any = mechanism.parse(chosen.mechanism_parameters)
    metric = metrics.get(chosen.metric)
    if reason := metric.allows(mechanism):
        raise ParameterError("mechanism", reason)
    if counts is not None:
        mechanism.check(parameters, metric, counts)
    if apart is not None:
        mechanism.check_apart(parameters, apart)
    return f"{mechanism.title}."


def written(value: Value) -> str:
    """Return a value as people write it; `parse` turns it back exactly."""
    return value if isinstance(value, str) else show(value)
