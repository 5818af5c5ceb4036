"""What a board will show, before it is asked: for its organizers."""

from leaderboard.models import Board
from leaderboard.queries.scales import scale
from scoring import mechanisms
from scoring.errors import HoldfastError


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
