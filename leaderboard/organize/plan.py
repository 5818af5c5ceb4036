"""The planner's boards for a round whose rows are split, in the units of its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Round, User
from leaderboard.organize.proposals import expected_size, training_labels
from leaderboard.organize.scoring import Scoring, change_scoring
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError
from scoring.guarantees.gains import Gains, board_gains, ordinary_gains
from scoring.guarantees.planner import Proposal, compare_boards
from scoring.mechanisms.needs import Need
from scoring.predictions import Schema
from scoring.proposals import best_constant

_GOOD: Final = Fraction(3, 5)  # of the best constant's loss: what a good model may reach
_SEASON: Final = (1.0, 1.03, 1.1, 1.25, 1.4)  # losses of some teams, in those of a good score


@dataclass(frozen=True)
class Row:
    """A row of a board that is imagined: a place, a name and a score as it would show it."""

    place: int
    name: str
    score: str


@dataclass(frozen=True)
class Card:
    """A board that may be chosen.

    half_width: of a good score at the end, in units of the score, None where next to nothing is
    promised. told_apart: the share of pairs that the finals tell apart. verdict: in words.
    """

    mechanism: str
    title: str
    is_used: bool
    half_width: float | None
    told_apart: float | None
    step: float
    verdict: str
    is_good: bool
    objections: tuple[str, ...]
    rows: tuple[Row, ...]
    parameters: Mapping[str, str]
    decimals: int


@dataclass(frozen=True)
class BoardPlan:
    """What the planner found for a round, the best board first."""

    need: Need
    cards: tuple[Card, ...]
    curves: tuple[Gains, ...]


def plan_boards(round: Round) -> BoardPlan | None:
    """Return the boards that may be chosen; None before there are metric and solution.

    Rehearsals are short, so that a page can wait: their figures are a little too careful.
    """
    try:
        need = need_of(round)
        if need is None:
            return None
        found = compare_boards(need)
    except HoldfastError:
        return None
    cards = tuple(_card(round, need, each) for each in found)
    curves = [ordinary_gains(need.private)]
    curves += [
        board_gains(need, each.mechanism, tuple(sorted(each.parameters.items()))) for each in found
    ]
    return BoardPlan(need, cards, tuple(curves))


def use_board(round: Round, mechanism: str, *, by: User | None = None) -> None:
    """Give a draft's board the mechanism of a card. Raises Refused."""
    check_right(by, round.competition, Right.EDIT)
    plan = plan_boards(round)
    card = (
        next((each for each in plan.cards if each.mechanism == mechanism), None) if plan else None
    )
    if card is None:
        raise Refused("invalid", field="board", variant="not_chosen", kind="board")
    board = round.board
    change_scoring(
        board,
        Scoring(board.metric, board.metric_parameters, card.mechanism, dict(card.parameters)),
        by=by,
    )


def need_of(round: Round) -> Need | None:
    """Return what the planner has to know of a round; None before there are metric and solution."""
    board, size = round.board, expected_size(round)
    holdout = round.active_holdout
    if holdout is None or size.private is None or board.metric not in metrics.METRICS:
        return None
    metric = metrics.get(board.metric)
    params = metric.parse(board.metric_parameters)
    loss = None
    labels = training_labels(round)
    if labels is not None:
        best = best_constant(metric, params, Schema.from_json(round.schema), labels)
        loss = None if best is None else best.loss
    guessing = min(Fraction(1), max(Fraction(1, 1000), loss)) if loss else Fraction(1, 2)
    good = min(Fraction(49, 100), max(Fraction(1, 1000), guessing * _GOOD))
    low, high = (Fraction(str(round_off(score))) for score in metric.score_range(params))
    public = size.public or 0
    # Final rows count as many as they are: they answer once.
    return Need(
        rows=size.private + public + holdout.final_rows,
        public=public,
        final=holdout.final_rows,
        teams=size.teams,
        submissions=size.submissions,
        metric="mean" if metric.is_mean else "set",
        worst=low,
        best=high if high != low else low + 1,
        good=good.limit_denominator(1000) or Fraction(1, 1000),
        guessing=guessing.limit_denominator(1000) or Fraction(1, 1000),
    )


def round_off(score: float) -> float:
    """Return a score with six digits, so that fractions stay small."""
    return float(f"{score:.6g}")


def _card(round: Round, need: Need, found: Proposal) -> Card:
    metric = metrics.get(round.board.metric)
    params = metric.parse(round.board.metric_parameters)
    is_used = found.mechanism == round.board.mechanism
    chosen = round.board.mechanism_parameters if is_used else found.parameters
    steps = mechanisms.get(found.mechanism).parse(chosen).steps
    step = float(need.unit) / steps
    decimals = _decimals(step)
    rows = [
        Row(
            place, name, f"{_on_grid(metric, params, steps, float(need.good) * loss):,.{decimals}f}"
        )
        for place, (name, loss) in enumerate(
            zip(("A good team", "Second", "Tenth", "Middle", "A beginner"), _SEASON, strict=True), 1
        )
    ]
    verdict, is_good = _judge(found, need)
    return Card(
        mechanism=found.mechanism,
        title=found.title,
        is_used=is_used,
        half_width=found.half_width,
        told_apart=found.separated,
        step=step,
        verdict=verdict,
        is_good=is_good,
        objections=found.objections,
        rows=tuple(rows),
        parameters=found.parameters,
        decimals=decimals,
    )


def _judge(found: Proposal, need: Need) -> tuple[str, bool]:
    """Return a verdict in words, and whether it is a good one."""
    if need.metric != "mean":
        return "Protected, with no guarantee: the metric is no mean over rows", True
    if found.half_width is None:
        return "Honest, for teaching: nothing is promised at this size", False
    if found.objections:
        return "Possible, with a reservation", False
    spread = float(need.guessing - need.good) * float(need.unit)
    if found.half_width <= spread:
        return "Good: the guarantee is narrower than what models differ by", True
    return "Honest, for teaching: the guarantee is wider than what models differ by", False


def _on_grid(metric: Any, params: Any, steps: int, loss: float) -> float:
    return float(metric.score(min(1.0, round_loss(loss, steps)), params))


def round_loss(loss: float, steps: int) -> float:
    """Return the loss as a board of so many steps shows it."""
    return round(loss * steps) / steps


def _decimals(step: float) -> int:
    text = f"{step:.0e}"
    return max(0, -int(text.partition("e")[2]))
