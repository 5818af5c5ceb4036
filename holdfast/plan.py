"""Planning a competition on this machine: which board, which split, and what both will promise.

The same plan as on the organizers' pages. It needs the packages of `holdfast[science]`.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast import output
from holdfast.checking import require
from holdfast.options import OneFormatOption
from holdfast.output import Column, Format

if TYPE_CHECKING:
    from scoring.guarantees.planner import Plan


def _figure(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 100 else f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value:.0%}"


BOARDS = [
    Column("title", "Board"),
    Column("half_width", "At the end ±", _figure, numeric=True),
    Column("shown_error", "Best shown, in sampling errors", _figure, numeric=True),
    Column("step", "Step", _figure, numeric=True),
    Column("corrections", "Corrections", numeric=True),
    Column("separated", "Pairs told apart", _share, numeric=True),
]
SPLITS = [
    Column("public", "Public", "{:,}".format, numeric=True),
    Column("private", "Private", "{:,}".format, numeric=True),
    Column("final", "Final", "{:,}".format, numeric=True),
    BOARDS[1],
    BOARDS[-1],
]
TRIALS = [
    Column("name", "Attack"),
    BOARDS[1],
    Column("shown", "Shown too good by", _figure, numeric=True),
    Column("fitted", "Private rows fitted by", _figure, numeric=True),
]


def plan(
    rows: Annotated[int, typer.Option("--rows", help="Hidden rows in all.")],
    teams: Annotated[int, typer.Option("--teams", help="Teams that will take part.")],
    submissions: Annotated[int, typer.Option("--submissions", help="Files of each team, in all.")],
    metric: Annotated[
        str, typer.Option("--metric", help="mean over rows, or set: AUC, F1 and the like.")
    ] = "mean",
    public: Annotated[int | None, typer.Option("--public", help="Rows that are Public.")] = None,
    final: Annotated[int | None, typer.Option("--final", help="Rows kept for the end.")] = None,
    worst: Annotated[str, typer.Option("--worst", help="The worst score.")] = "0",
    best: Annotated[str, typer.Option("--best", help="The best score.")] = "1",
    good: Annotated[str | None, typer.Option("--good", help="A good score.")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="What guessing or a baseline scores.")
    ] = None,
    confidence: Annotated[str, typer.Option("--confidence", help="Of all guarantees.")] = "0.95",
    seed: Annotated[int, typer.Option("--seed", help="Of the rehearsals.")] = 0,
    style: OneFormatOption = Format.table,
) -> None:
    """Plan a competition: rehearse seasons, and propose a board with its reasons.

    Nothing is sent anywhere. Figures are in units of the score.
    """
    require("Planning", "scoring.guarantees.planner")
    errors = import_module("scoring.errors")
    planner, needs = map(import_module, ("scoring.guarantees.planner", "scoring.mechanisms.needs"))
    ends = _number("worst", worst), _number("best", best)
    losses = {
        name: _loss(_number(option, score), *ends)
        for name, option, score in (("good", "good", good), ("guessing", "baseline", baseline))
        if score is not None
    }
    try:
        need = needs.Need(
            rows=rows,
            teams=teams,
            submissions=submissions,
            metric=metric,
            public=public,
            final=final,
            confidence=_number("confidence", confidence),
            worst=ends[0],
            best=ends[1],
            **losses,
        )
        found: Plan = planner.plan(need, seed)
    except errors.ParameterError as error:
        raise typer.BadParameter(f"{error.field}: {error.message}") from None
    if style is Format.json:
        output.show_json(found.to_json())
    elif style is Format.csv:
        output.show(found.to_json()["boards"], BOARDS, style)
    else:
        _explain(found)


def _number(option: str, text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"{text!r} is not a number, for --{option}.") from None


def _loss(score: Fraction, worst: Fraction, best: Fraction) -> Fraction:
    return Fraction(0) if worst == best else (best - score) / (best - worst)


def _explain(plan: Plan) -> None:
    """Print the proposal, its reasons, the boards, the splits, and the attacks."""
    best, split = plan.boards[0], plan.splits[0]
    output.say(
        f"Proposed: {best.title}, with {split.public:,} rows Public, {split.private:,} Private "
        f"and {split.final:,} Final."
    )
    for reason in plan.reasons:
        output.say(f"- {reason}")
    settings = best.parameters | {"question limit": str(best.question_limit)}
    if best.nats_limit is not None:
        settings["nats a team may cost"] = str(best.nats_limit)
    output.say("Settings: " + ", ".join(f"{name} {value}" for name, value in settings.items()))
    document = plan.to_json()
    output.show(document["boards"], BOARDS, Format.table)
    output.show(document["splits"], SPLITS, Format.table)
    output.show(document["boards"][0]["trials"], TRIALS, Format.table)
