"""Plans a competition: which mechanism, what it guarantees, what normal teams and an attacker get.

    python -m scoring.plan --rows 10000 --public-rows 5000 --teams 60 --submissions 100

Losses run from 0 (perfect) to 1: for accuracy, an error. `--json` prints the same as JSON.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from scoring.errors import ParameterError
from scoring.guarantees.planner import (
    Proposal,
    describe,
    plain_board_certificate,
    propose,
)
from scoring.guarantees.rehearsal import (
    Attack,
    Normal,
    attack,
    attack_on_plain_board,
    normal,
)
from scoring.mechanisms.needs import Need

_LABEL_WIDTH = 34


@dataclass(frozen=True)
class Column:
    """One board: a mechanism with its parameters, or the plain one, and what happened on it."""

    title: str
    proposal: Proposal | None
    guarantee: float | None
    normal: Normal | None
    attack: Attack | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the plan; return 2 for arguments that make no competition."""
    parser = argparse.ArgumentParser(prog="python -m scoring.plan", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--rows", type=int, required=True, help="private rows, that scores are computed on")
    add("--public-rows", type=int, default=0, help="public rows (default: none, teams claim)")
    add("--teams", type=int, required=True)
    add("--submissions", type=int, required=True, help="submissions of each team in all")
    add("--metric", choices=("mean", "set"), default="mean", help="set: AUC, F1 and the like")
    add("--tolerance", type=Fraction, default=Fraction(1, 20), help="wished guarantee, as a loss")
    add("--confidence", type=Fraction, default=Fraction(95, 100))
    add("--seed", type=int, default=0, help="of the rehearsals")
    add("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    try:
        need = Need(
            rows=options.rows,
            teams=options.teams,
            submissions=options.submissions,
            metric=options.metric,
            tolerance=options.tolerance,
            confidence=options.confidence,
            public=options.public_rows,
        )
    except ParameterError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    columns = plan(need, options.seed)
    document = {"need": asdict(need), "boards": [asdict(column) for column in columns]}
    # The only values without a form of their own are fractions.
    text = json.dumps(document, indent=2, default=str) if options.json else _table(need, columns)
    sys.stdout.write(text + "\n")
    return 0


def plan(need: Need, seed: int) -> list[Column]:
    """Return the boards, the recommended one first and the plain one last."""
    boards = [
        Column(
            title=proposal.title,
            proposal=proposal,
            guarantee=proposal.normal,
            normal=None if proposal.refusal else normal(need, proposal, seed),
            attack=None if proposal.refusal else attack(need, proposal, seed),
        )
        for proposal in propose(need)
    ]
    guarantee = plain_board_certificate(need)
    plain = Column("Plain board", None, guarantee, None, attack_on_plain_board(need, seed))
    return [*boards, plain]


def _table(need: Need, columns: list[Column]) -> str:
    reference = f"{need.public:,} public rows" if need.public else "claimed scores"
    kind = "a mean over rows" if need.metric == "mean" else "a function of all rows together"
    heading = (
        f"Teams: {need.teams:,}, submissions of each: {need.submissions:,}. Private rows: "
        f"{need.rows:,}, reference: {reference}.\nMetric: {kind}. Wished: "
        f"±{float(need.tolerance):g} at confidence {float(need.confidence):g}. "
        "All figures are losses, 0 is perfect."
    )
    widths = [max(9, len(column.title)) + 1 for column in columns]
    lines = [heading, "", _row("", [column.title for column in columns], widths)]
    lines += [
        _row(label, [cell(column) for column in columns], widths) for label, cell in _figures(need)
    ]
    proposals = [column.proposal for column in columns if column.proposal is not None]
    lines += ["", "Parameters"]
    for proposal in proposals:
        said = proposal.refusal or describe(proposal.parameters)
        lines.append(f"  {proposal.title}: {said}")
    return "\n".join([*lines, "", _advice(need, proposals[0])])


def _row(label: str, cells: list[str], widths: list[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return (label.ljust(_LABEL_WIDTH) + "".join(padded)).rstrip()


def _figures(need: Need) -> list[tuple[str, Callable[[Column], str]]]:
    return [
        ("Guarantee, normal competition", lambda c: _width(c.guarantee)),
        ("  after so many answers", lambda c: _of(c.proposal, lambda p: f"{p.normal_answers:,}")),
        ("Guarantee at worst", lambda c: _of(c.proposal, lambda p: _width(p.worst))),
        (
            f"Private rows for ±{float(need.tolerance):g}",
            lambda c: _of(c.proposal, lambda p: _count(p.rows_needed)),
        ),
        ("Normal teams", lambda c: ""),
        ("  answers that say something", lambda c: _of(c.normal, lambda n: f"{n.answers:,}")),
        ("  teams without a share left", lambda c: _of(c.normal, lambda n: f"{n.exhausted:,}")),
        ("  best shown is off by (mean)", lambda c: _of(c.normal, lambda n: _loss(n.off))),
        ("A team that guesses (truth 0.5)", lambda c: ""),
        ("  answers that say something", lambda c: _of(c.attack, lambda a: f"{a.answers:,}")),
        ("  best loss on the board", lambda c: _of(c.attack, lambda a: _loss(a.shown))),
        ("  private loss reached", lambda c: _of(c.attack, lambda a: _loss(a.fitted))),
    ]


def _of(value: Any, show: Callable[[Any], str]) -> str:
    return "-" if value is None else show(value)


def _width(width: float | None) -> str:
    return "none" if width is None else f"±{width:.3f}"


def _loss(loss: float | None) -> str:
    return "-" if loss is None else f"{loss:.3f}"


def _count(count: int | None) -> str:
    return "none do" if count is None else f"{count:,}"


def _advice(need: Need, best: Proposal) -> str:
    if best.normal is not None and best.normal <= need.tolerance:
        return f"Proposed: {best.title}. It keeps to what was wished."
    if need.metric == "set":
        return (
            f"Proposed: {best.title}. No guarantee is known for a function of all rows together; "
            "what it shows is protected all the same."
        )
    if best.rows_needed is None:
        return f"Proposed: {best.title}. No number of rows brings what was wished."
    return (
        f"Proposed: {best.title}. What was wished needs {best.rows_needed:,} private rows, or "
        "fewer teams and submissions."
    )


if __name__ == "__main__":
    sys.exit(main())
