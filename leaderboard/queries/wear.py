"""What is left of the guarantee that a board opened with."""

from dataclasses import dataclass

from leaderboard.models import Board
from leaderboard.queries.guarantees import figure, guarantee


@dataclass(frozen=True)
class Wear:
    """The guarantee of a board at its opening and now, as half-widths of a score.

    now: None where nothing is guaranteed any more.
    """

    announced: float
    now: float | None

    @property
    def text(self) -> str:
        """Return both in words."""
        if self.now is None:
            return f"Announced {figure(self.announced)}, now none."
        times = self.now / self.announced
        wider = f", {times:.1f} times as wide" if times >= 1.05 else ""
        return f"Announced {figure(self.announced)}, now {figure(self.now)}{wider}."


def wear(board: Board) -> Wear | None:
    """Return how far the guarantee of a board has worn.

    None if it announced none, and until somebody leads: what was announced is of a good score.
    """
    found = guarantee(board) if board.announced else None
    if not board.announced or (found is not None and not found.leads):
        return None
    return Wear(board.announced, found.now if found else None)
