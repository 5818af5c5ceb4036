"""The planner's boards for a round whose rows are split, in the units of its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused
from leaderboard.models import Board, Round, User
from leaderboard.organize.proposals import expected_size, training_labels
from leaderboard.organize.scoring import Scoring, change_scoring
from leaderboard.queries.certificates import round_up
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError
from scoring.guarantees.gains import Gains, board_gains, ordinary_gains
from scoring.guarantees.planner import Proposal, compare_boards, find_remedy, rehearse
from scoring.mechanisms.needs import Need
from scoring.predictions import Schema
from scoring.proposals import Size, best_constant

_GOOD: Final = Fraction(3, 5)  # of the best constant's loss: what a good model may reach
_SEASON: Final = (1.0, 1.03, 1.1, 1.25, 1.4)  # losses of some teams, in those of a good score


@dataclass(frozen=True)
class Row:
    """A row of a board that is imagined: a place, a name and a score as it would show it."""

    place: int
    name: str
    score: str


@dataclass(frozen=True)
class Foreseen:
    """What is promised of a good score at the end of a season of this size, in its units.

    half_width: None where nothing is; `fits` is whether the metric allows any guarantee.
    """

    size: Size
    half_width: float | None
    fits: bool = True

    @property
    def text(self) -> str:
        """Return the half-width with two digits, rounded up; empty without one."""
        return "" if self.half_width is None else round_up(self.half_width)


@dataclass(frozen=True)
class Card:
    """A board that may be chosen.

    foreseen: of a good score at the end. told_apart: the share of pairs that the finals tell apart.
    verdict: in words.
    """

    mechanism: str
    title: str
    is_used: bool
    foreseen: Foreseen
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
    """What the planner found for a round, the best board first, and `reason` why it is.

    remedy: what would help where the board in use promises nothing; else empty.
    """

    size: Size
    need: Need
    reason: str
    remedy: str
    cards: tuple[Card, ...]
    curves: tuple[Gains, ...]


def plan_boards(round: Round) -> BoardPlan | None:
    """Return the boards that may be chosen; None before there are metric and solution.

    Rehearsals are short, so that a page can wait: their figures are a little too careful.
    """
    board = round.board
    try:
        need = need_of(board)
        if need is None:
            return None
        found = [_as_used(board, need, each) for each in compare_boards(need)]
    except HoldfastError:
        return None
    found.sort(key=lambda each: each.order)
    size = _size_of(board)
    cards = tuple(_card(board, need, size, each) for each in found)
    curves = [ordinary_gains(need.private)]
    curves += [
        board_gains(need, each.mechanism, tuple(sorted(each.parameters.items()))) for each in found
    ]
    reason = _compare(cards, found, need) if found else ""
    return BoardPlan(size, need, reason, suggest_remedy(board), cards, tuple(curves))


def foresee_guarantee(board: Board, *, columns: int = 0) -> Foreseen | None:
    """Return what a board will promise at the end of a normal season of the expected size.

    The one figure for cards, checklist and the page of a running competition. columns: so many
    boards more are counted than its round has. None without a solution, and where parts don't fit.
    """
    try:
        need = need_of(board, columns=columns)
        if need is None or board.mechanism not in mechanisms.MECHANISMS:
            return None
        size = _size_of(board, columns)
        if need.metric != "mean":
            return Foreseen(size, None, fits=False)
        found = rehearse(need, board.mechanism, _parameters_of(board))
    except HoldfastError:
        return None
    return _foreseen(board, need, size, found)


def suggest_remedy(board: Board) -> str:
    """Return what would help a board that promises nothing at the end; empty where it does."""
    foreseen, need = foresee_guarantee(board), need_of(board)
    if need is None or foreseen is None or not foreseen.fits or foreseen.half_width is not None:
        return ""
    holdout = board.round.active_holdout
    kind = "groups" if holdout is not None and holdout.designs else "rows"
    remedy = find_remedy(need, board.mechanism, _parameters_of(board))
    found = []
    if remedy.submissions is not None:
        found.append(f"at most {remedy.submissions} submissions each")
    if remedy.times is not None:
        found.append(f"about {remedy.times * need.private:,} Private {kind}")
    if not found:
        return (
            f"Neither fewer submissions nor fifty times the {kind} would change that: use finer "
            "or coarser steps, or another mechanism."
        )
    only = "" if remedy.submissions is not None else "Fewer submissions alone would not help. "
    return f"{only}What would: {', or '.join(found)}."


def good_loss(board: Board) -> float | None:
    """Return the loss of a score that a good model may reach; None before it can be known."""
    try:
        need = need_of(board)
    except HoldfastError:
        return None
    return None if need is None else float(need.good)


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


def need_of(board: Board, *, columns: int = 0) -> Need | None:
    """Return what the planner has to know of a board; None before there are metric and solution.

    columns: so many boards more are asked than its round has.
    """
    round, size = board.round, _size_of(board, columns)
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
        teams=size.teams * size.boards,
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


def _size_of(board: Board, columns: int = 0) -> Size:
    size = expected_size(board.round)
    return replace(size, boards=size.boards + columns)


def _parameters_of(board: Board) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(board.mechanism_parameters.items()))


def _as_used(board: Board, need: Need, found: Proposal) -> Proposal:
    """Return the proposal with the parameters that the board has, if it is of its mechanism."""
    if found.mechanism != board.mechanism:
        return found
    return rehearse(need, board.mechanism, _parameters_of(board))


def _foreseen(board: Board, need: Need, size: Size, found: Proposal) -> Foreseen:
    if found.half_width is None:
        return Foreseen(size, None, fits=need.metric == "mean")
    metric = metrics.get(board.metric)
    params = metric.parse(board.metric_parameters)
    width, good = found.half_width / float(need.unit), float(need.good)
    ends = (metric.score(min(1.0, max(0.0, good + by)), params) for by in (width, -width))
    low, high = sorted(ends)
    return Foreseen(size, (high - low) / 2)


def _compare(cards: Sequence[Card], found: Sequence[Proposal], need: Need) -> str:
    """Return why the first board is the best one, by what decided it."""
    best, *others = cards
    if not others:
        return f"{best.title} is the only board that fits."
    named = ", ".join(f"{each.title} {_promise(each)}" for each in others)
    if best.foreseen.half_width is not None and not best.objections:
        return f"{best.title} promises most at the end: {_promise(best)}; {named}."
    if need.metric == "mean" and all(each.foreseen.half_width is None for each in cards):
        told = ", ".join(f"{each.title} {_nats(each.nats)}" for each in found)
        because = (
            "its finals tell most pairs of teams apart"
            if (found[0].separated or 0) > (found[1].separated or 0)
            else f"a season of its answers tells least of the Private rows (in nats: {told})"
        )
        return (
            f"No board promises anything at this size. {best.title} comes first because {because}."
        )
    return f"{best.title} has the fewest reservations, and its answers tell least."


def _nats(nats: float) -> str:
    return f"{nats:,.0f}" if nats >= 10 else f"{nats:.1g}"


def _promise(card: Card) -> str:
    return f"±{card.foreseen.text}" if card.foreseen.text else "nothing"


def _card(board: Board, need: Need, size: Size, found: Proposal) -> Card:
    metric = metrics.get(board.metric)
    params = metric.parse(board.metric_parameters)
    is_used = found.mechanism == board.mechanism
    steps = mechanisms.get(found.mechanism).parse(found.parameters).steps
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
        foreseen=_foreseen(board, need, size, found),
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
