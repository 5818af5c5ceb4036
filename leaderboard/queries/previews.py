"""What a board will show and promise, before it is asked: for its organizers."""

import math
from dataclasses import dataclass
from typing import Final

from leaderboard.models import Board, Holdout
from leaderboard.queries.scales import scale
from scoring import mechanisms, metrics
from scoring.errors import HoldfastError
from scoring.measurement import Mean
from scoring.mechanisms.base import HoldoutState as LedgerHead

# Questions asked and answers given, to show how certificates widen.
_MILESTONES: Final = ((1, 0), (100, 10), (1_000, 50), (10_000, 200))


@dataclass(frozen=True)
class Forecast:
    """How wide the certificate of question number `question` is, as a loss; None: no certificate.

    `answered` earlier questions had an answer that said more than "no".
    """

    question: int
    answered: int
    width: float | None


def _forecast(board: Board, holdout: Holdout, head: LedgerHead) -> Forecast | None:
    """Return the certificate of the next answer; None where mechanism or metric don't fit."""
    try:
        mechanism = mechanisms.get(board.mechanism)
        private, public = holdout.effective_private_rows, holdout.effective_public_rows
        additive = metrics.get(board.metric).is_mean
        # Losses of 1/2: any would do, because the certificate follows from published facts.
        means = [Mean(rows, rows, 2, additive) for rows in (private, public or private)]
        params = mechanism.parse(board.mechanism_parameters)
        width = mechanism.certify_next(params, head, *means)
    except HoldfastError:
        return None
    return Forecast(head.asked + 1, head.answered, width)


def plan(board: Board) -> list[Forecast]:
    """Return how the board's certificates widen with use; empty until a solution is sealed."""
    holdout = board.round.active_holdout
    if holdout is None:
        return []
    try:
        heads = [_make_head(board, asked - 1, answered) for asked, answered in _MILESTONES]
    except HoldfastError:
        return []
    found = (_forecast(board, holdout, head) for head in heads)
    return [each for each in found if each is not None]


def describe_grid(board: Board) -> str:
    """Return which scores the board can show; empty until metric and mechanism are chosen."""
    try:
        reads = scale(board)
    except HoldfastError:
        return ""
    if not mechanisms.get(board.mechanism).shows_scores:
        return ""
    places = reads.decimals
    worst, best = (f"{score:,.{places}f}" for score in (reads.worst, reads.best))
    about, _, step = reads.step_text(0.5).rpartition(" ")
    return (
        f"The board shows scores from {worst}, the worst, to {best}, the best, in steps of "
        f"{about and 'about '}{float(step):,.{places}f}. What differs by less may look the same."
    )


def _make_head(board: Board, asked: int, answered: int) -> LedgerHead:
    """Return a head after so many questions, had every answer had its largest alphabet."""
    mechanism = mechanisms.get(board.mechanism)
    params = mechanism.parse(board.mechanism_parameters)
    return LedgerHead(
        asked=asked,
        answered=answered,
        log_alphabets=answered * math.log(params.alphabet),
        firings=answered,
        budget_left=mechanism.initial_holdout(params).budget_left,
    )
