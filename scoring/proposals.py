"""Defaults of a competition from its data: clip, mechanism, steps, budget, rung, question limit.

What is proposed is published with the competition. So it is computed from labels that participants
have (training labels, or those of Public rows, whose scores they are shown) and from counts: these
are all that `propose` takes. Labels of Private and Final rows never have a part in it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ParameterError
from scoring.measurement import Mean
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import Mechanism
from scoring.mechanisms.fitness import RUNG, RUNG_ERRORS, finest_grid, highest_rung
from scoring.mechanisms.needs import Need
from scoring.metrics import Metric
from scoring.metrics.base import Parameters
from scoring.parameters import show
from scoring.predictions import Schema

Labels = Sequence[NDArray[Any]]

PREFERRED: Final = ("guard", "ladder")  # the first that fits is the default
KEPT: Final = 0.98  # the share of a constant's errors that a clip leaves whole
MOST_CUT: Final = 0.05  # beyond it an organizer is warned
_CANDIDATES: Final = 21
_ROUND: Final = tuple(map(Fraction, ("1", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10")))
_STEPS: Final = tuple(map(Fraction, ("1", "2", "5", "10")))


@dataclass(frozen=True)
class Size:
    """How large a competition is: rows of the solution as they count, None before there is one;
    teams, the submissions of each, and the boards that answer them."""

    teams: int
    submissions: int
    boards: int = 1
    private: int | None = None
    public: int | None = None


@dataclass(frozen=True)
class Suggestion:
    """A value for a field, such as `metric_parameters.clip`, as text, and why in sentences.

    title: what pages call the field.
    """

    field: str
    title: str
    value: str
    reason: str


@dataclass(frozen=True)
class Constant:
    """The best prediction that is the same in every row, on labels that participants have.

    values: one of each column. losses: of the rows. loss: their mean.
    """

    values: tuple[float, ...]
    losses: NDArray[Any]

    @property
    def loss(self) -> Fraction:
        return Fraction(float(self.losses.mean())).limit_denominator(10**6)

    @property
    def spread(self) -> float:
        return float(self.losses.std())


def propose(
    metric: Metric,
    parameters: Mapping[str, str],
    schema: Schema,
    size: Size,
    *,
    training: Labels | None = None,
    public: Labels | None = None,
) -> tuple[Suggestion, ...]:
    """Return what fits the data. Without labels, or a solution, less is proposed.

    training, public: labels of the training file and of Public rows, by column, encoded like a
    solution's. A constant is fitted to the first, and its loss taken on the second, where both are
    known.
    """
    found = []
    known = training if training is not None else public
    params = metric.parse(parameters)
    if known is not None and (clip := _clip(metric, schema, known)) is not None:
        found.append(clip)
        params = metric.parse({**parameters, "clip": clip.value})
    constant = None
    if known is not None and (constant := best_constant(metric, params, schema, known)) is not None:
        seen = public if public is not None else known
        constant = _measure(metric, params, schema, constant.values, seen)
    mechanism = choose_mechanism(metric, size)
    found.append(
        Suggestion("mechanism", "Mechanism", mechanism.name, _why(mechanism, metric, size))
    )
    if size.private:
        found += _of_mechanism(mechanism, metric, params, size, constant)
    boards = f" on {size.boards} boards" if size.boards > 1 else ""
    limit = (
        f"{size.teams:,} teams with {size.submissions:,} submissions each{boards}, baselines too."
    )
    limit += " Guarantees are narrower where a limit was declared."
    questions = size.teams * size.submissions * size.boards
    found.append(Suggestion("question_limit", "Questions in all", str(questions), limit))
    return tuple(found)


def choose_mechanism(metric: Metric, size: Size | None = None) -> Mechanism[Any]:
    """Return the mechanism that is proposed: the first preferred one that takes metric and rows.

    Without a solution yet, one with enough Public rows is expected.
    """
    fitting = (MECHANISMS[name] for name in PREFERRED if metric.fits(MECHANISMS[name]))
    for mechanism in fitting:
        if size is None or size.private is None:
            return mechanism
        need = _need(metric, size)
        if not need.public and mechanism.reference(mechanism.parse({})) == "public":
            continue
        try:
            raw = {**_drafted(mechanism, need), "steps": "2"}
            mechanism.check(mechanism.parse(raw), metric, need.counts)
        except ParameterError:
            continue
        return mechanism
    return MECHANISMS[PREFERRED[-1]]


def best_constant(
    metric: Metric, params: Parameters, schema: Schema, labels: Labels
) -> Constant | None:
    """Return the best constant prediction; None for a metric without losses of single rows."""
    if metric.row_losses is None:
        return None
    tried = (_measure(metric, params, schema, each, labels) for each in _constants(schema, labels))
    return min(tried, key=lambda constant: constant.loss)


def share_cut(metric: Metric, params: Parameters, schema: Schema, labels: Labels) -> float | None:
    """Return the share of a constant's errors that the clip cuts; None where nothing is cut."""
    if metric.errors is None:
        return None
    _, errors = _errors_of_best(metric, schema, labels)
    return float((errors > float(Fraction(params["clip"]))).mean())


def sampling_error(constant: Constant | None, rows: int) -> float:
    """Return the standard error of a mean loss: by the constant's losses, or the largest.

    A constant may be off by the same in all rows, as models are not: half its loss is the least.
    """
    spread = 0.0 if constant is None else max(constant.spread, float(constant.loss) / 2)
    return (spread or 0.5) / math.sqrt(rows)


def _constants(schema: Schema, labels: Labels) -> Iterator[tuple[float, ...]]:
    """Yield constants to try: the most frequent class, the mean, quantiles of numbers."""
    places = np.linspace(0, 1, _CANDIDATES)
    columns = []
    for column, values in zip(schema.columns, labels, strict=True):
        if column.kind == "label":
            columns.append([float(np.bincount(values).argmax())])
        elif column.kind == "probability":
            columns.append([float(values.mean())])
        else:
            columns.append([float(values.mean()), *map(float, np.quantile(values, places))])
    for turn in range(max(map(len, columns))):
        yield tuple(each[min(turn, len(each) - 1)] for each in columns)


def _filled(values: Sequence[float], labels: Labels) -> list[NDArray[Any]]:
    return [
        np.full(len(each), value, dtype=each.dtype)
        for value, each in zip(values, labels, strict=True)
    ]


def _measure(
    metric: Metric, params: Parameters, schema: Schema, values: tuple[float, ...], labels: Labels
) -> Constant:
    losses = metric.losses(schema, _filled(values, labels), list(labels), params)
    return Constant(values, np.asarray(losses, dtype=np.float64))


def _errors_of_best(
    metric: Metric, schema: Schema, labels: Labels
) -> tuple[tuple[float, ...], NDArray[Any]]:
    """Return the constant with the smallest mean error, and its finite errors."""
    best: tuple[float, tuple[float, ...], NDArray[Any]] | None = None
    for values in _constants(schema, labels):
        with np.errstate(all="ignore"):
            errors = metric.row_errors(_filled(values, labels), list(labels))
        errors = errors[np.isfinite(errors)]
        mean = float(errors.mean()) if len(errors) else math.inf
        if best is None or mean < best[0]:
            best = (mean, values, errors)
    assert best is not None  # noqa: S101  (there is always a constant)
    return best[1], best[2]


def _clip(metric: Metric, schema: Schema, labels: Labels) -> Suggestion | None:
    if metric.errors is None:
        return None
    values, errors = _errors_of_best(metric, schema, labels)
    if not len(errors) or not (widest := float(np.quantile(errors, KEPT))):
        return None
    shown = ", ".join(f"{value:.4g}" for value in values)
    return _suggest(
        metric,
        "clip",
        show(_round_up(widest, _ROUND)),
        f"{100 * KEPT:.0f} % of the errors of the best constant prediction ({shown}) on "
        f"{len(errors):,} known labels are at most {widest:.4g}. Steps and guarantees are shares "
        "of the clip, so it is no larger than needed.",
    )


def _why(mechanism: Mechanism[Any], metric: Metric, size: Size) -> str:
    if mechanism.name != PREFERRED[0]:
        return (
            f"{metric.title} is no mean over rows." if not metric.is_mean else
            "The solution has too few Public rows for a score on these to be shown."
        )  # fmt: skip
    known = "" if size.public else " It needs Public rows in the solution."
    return (
        f"{metric.title} is a mean over rows: teams see their score on the Public rows, next to "
        f"nothing is told of the Private ones, and guarantees stay narrow.{known}"
    )


def _need(metric: Metric, size: Size) -> Need:
    return Need(
        rows=(size.private or 1) + (size.public or 0),
        public=size.public or 0,
        teams=size.teams,
        submissions=size.submissions,
        metric="mean" if metric.is_mean else "set",
    )


def _drafted(mechanism: Mechanism[Any], need: Need) -> dict[str, str]:
    return next(iter(mechanism.draft(need)))


def _of_mechanism(
    mechanism: Mechanism[Any],
    metric: Metric,
    params: Parameters,
    size: Size,
    constant: Constant | None,
) -> Iterator[Suggestion]:
    """Yield values of the mechanism's parameters: of each that it has."""
    rows, names = size.private or 1, {each.name for each in mechanism.parameters}
    steps = _steps(mechanism, metric, params, rows, constant)
    yield steps
    raw = _drafted(mechanism, _need(metric, size)) | {"steps": steps.value}
    if "budget" in names:
        share, budget = raw["team_share"], raw["budget"]
        seldom = "One in twenty submissions: few honest scores are corrected."
        yield _suggest(mechanism, "team_share", share, seldom)
        enough = f"Enough for {size.teams:,} teams, which take from it at their first correction."
        yield _suggest(mechanism, "budget", budget, enough)
    settings = mechanism.parse(raw)
    if "errors" in names and size.public:
        loss = constant.loss if constant is not None else Fraction(1, 2)
        seen = Mean(round(loss * size.public), size.public, 1)
        shown = float(Fraction(seen.level(settings.steps), settings.steps))
        band = settings.band(seen, rows) / 10**6
        worse, better = (metric.score(min(1, max(0, shown + by)), params) for by in (band, -band))
        yield _suggest(
            mechanism,
            "errors",
            show(settings.errors),
            f"A score of {metric.score(shown, params):.4g} stands while the private one lies "
            f"between {min(worse, better):.4g} and {max(worse, better):.4g}: chance alone goes "
            "beyond that less than once in 10,000 files.",
        )
    if RUNG.name in names and constant is not None:
        rung = highest_rung(
            *(settings.steps, constant.loss, rows, size.public or len(constant.losses)),
            variance=Fraction(constant.spread**2).limit_denominator(10**9),
        )
        guessing = metric.score(float(constant.loss), params)
        yield _suggest(
            mechanism,
            RUNG.name,
            str(rung),
            f"The best constant prediction reaches {guessing:.4g}; {RUNG_ERRORS} standard errors "
            + (
                f"better is {metric.score(rung / settings.steps, params):.4g}. A first score is "
                "shown beyond that, so that new accounts learn nothing by guessing."
                if rung
                else "better is no level of the board: the first score of a team is shown."
            ),
        )


def _steps(
    mechanism: Mechanism[Any],
    metric: Metric,
    params: Parameters,
    rows: int,
    constant: Constant | None,
) -> Suggestion:
    """Return steps that are round in the score's own units and no wider than a sampling error."""
    error = sampling_error(constant, rows)
    low, high = sorted(metric.score_range(params))
    if metric.kind == "transformed_mean":  # its steps are not alike as scores
        wished = math.ceil(1 / _round_down(error, _STEPS))
    else:
        wished = math.ceil(Fraction(high - low) / _round_down((high - low) * error, _STEPS))
    steps = max(2, min(wished, finest_grid(rows, metric)))
    at = float(constant.loss) if constant is not None else 0.5
    size, wide = (
        abs(metric.score(at, params) - metric.score(max(0, at - by), params))
        for by in (1 / steps, error)
    )
    reason = f"A step is {size:.2g} of the score; the sampling error on {rows:,} private rows is "
    reason += f"{wide:.2g} for the best constant prediction." if constant else f"up to {wide:.2g}."
    if wished > steps:
        reason += " Finer steps would show little but chance on so few rows."
    return _suggest(mechanism, "steps", str(steps), reason)


def _suggest(owner: Metric | Mechanism[Any], name: str, value: str, reason: str) -> Suggestion:
    kind = "metric" if isinstance(owner, Metric) else "mechanism"
    title = next(each.title for each in owner.parameters if each.name == name)
    return Suggestion(f"{kind}_parameters.{name}", title, value, reason)


def _round_up(value: float, heads: Sequence[Fraction]) -> Fraction:
    unit = Fraction(10) ** math.floor(math.log10(value))
    return next((head * unit for head in heads if head * unit >= value), 10 * unit)


def _round_down(value: float, heads: Sequence[Fraction]) -> Fraction:
    unit = Fraction(10) ** math.floor(math.log10(value))
    return max((head * unit for head in heads if head * unit <= value), default=unit)
