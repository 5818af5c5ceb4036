"""What one who guesses takes from a board, file by file, beside a board that answers exactly.

Labels are coins, as in `attacks`: whatever is better than a loss of 1/2 was taken from the board.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from scoring.guarantees.attacks import Front, guess
from scoring.ledger import Board, begin
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.needs import Need
from scoring.noise import SeededNoise

FILES: Final = (1, 2, 5, 10, 20, 50, 100, 200)
_MOST_ROWS: Final = 4_000  # of more the curves are flatter, and take longer


@dataclass(frozen=True)
class Gains:
    """What was gained on Private rows, in losses, after so many files: of one board."""

    name: str
    title: str
    points: tuple[tuple[int, float], ...]


class _Ordinary:
    """A board that says of every file how many rows are right."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def ask(self, wrong: int, public: float, team: int = 0) -> float:
        return wrong / self.rows

    def told(self, answer: float) -> float | None:
        return answer


@lru_cache(maxsize=64)
def ordinary_gains(rows: int) -> Gains:
    """Return what is gained on a board that shows every score."""
    return Gains("ordinary", "An ordinary board", _climb(lambda: _Ordinary(min(rows, _MOST_ROWS))))


@lru_cache(maxsize=64)
def board_gains(need: Need, mechanism: str, parameters: tuple[tuple[str, str], ...]) -> Gains:
    """Return what is gained on a board of this mechanism."""
    kind = MECHANISMS[mechanism]
    params = kind.parse(dict(parameters))
    rows = min(need.private, _MOST_ROWS)
    public = 0 if kind.reference(params) == "claim" else min(need.public or 0, _MOST_ROWS)
    board = Board("board", kind, params, rows, public)
    terms = begin([(kind, board.laws)], question_limit=need.questions, team_limit=need.teams)

    def front() -> Front:
        noise = SeededNoise(np.random.default_rng(1))
        return Front(terms, board, noise, additive=need.metric == "mean")

    return Gains(mechanism, kind.title, _climb(front))


def _climb(front: Any) -> tuple[tuple[int, float], ...]:
    gained = [0.5 - guess(front(), files, np.random.default_rng(2)) for files in FILES]
    return tuple(zip(FILES, (max(0.0, each) for each in gained), strict=True))
