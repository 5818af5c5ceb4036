"""Those who play against a board: what they gain, and what it costs everybody else.

Labels are coins, so that whatever is better than a loss of 1/2 was taken from the board. Who
attacks knows the Public labels, and nothing of the Private ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.laws.books import Account, TeamBook
from scoring.ledger import Board, Standing, Terms, ask
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, State, TeamState
from scoring.noise import Noise

Labels = NDArray[np.int8]

TRUTH: Final = 0.5
MOST_CELLS: Final = 20_000_000  # rows times files of an attacker
MOST_FILES: Final = 200


@dataclass(frozen=True)
class Attack:
    """What an attack came to, in losses.

    length: of its answers, in millionths of a nat: what it adds to everybody's L. shown: by how
    much the board shows the attacker better than the truth. fitted: by how much its last file is
    better on the Private rows than it deserves.
    """

    name: str
    length: int
    shown: float
    fitted: float


class Front:
    """A board that nobody has asked, and whoever stands in front of it."""

    def __init__(self, terms: Terms, board: Board, noise: Noise, *, additive: bool) -> None:
        self._terms, self._board, self._noise, self._additive = terms, board, noise, additive
        self._claims = board.mechanism.reference(board.params) == "claim"
        self._head = board.mechanism.initial_holdout(board.params)
        self._teams: dict[int, tuple[TeamState, TeamBook | None]] = {}
        self._account = Account()

    @property
    def rows(self) -> int:
        """Return how many Private rows there are."""
        return self._board.private_rows

    @property
    def length(self) -> int:
        """Return what was told, in millionths of a nat."""
        weight = self._terms.weight
        return self._account.length(weight) - Account().length(weight)

    def ask(self, wrong: int, public: float, team: int = 0) -> Answer:
        """Send a file with so many Private rows wrong, and this loss on Public rows or claimed."""
        rows = self.rows if self._claims else self._board.public_rows
        reference = Mean(round(public * rows), rows, 1, self._additive) if rows else None
        state, book = self._teams.get(team, (TeamState(), None))
        before = Standing(State(self._head, state), self._account, book)
        measurement = Measurement(Mean(wrong, self.rows, 1, self._additive), reference)
        after, answer, _ = ask(self._terms, self._board, before, measurement, self._noise)
        self._head, self._account = after.state.holdout, after.account
        self._teams[team] = after.state.team, after.book
        return answer

    def told(self, answer: Answer) -> float | None:
        """Return the loss in an answer that says more than "no", None otherwise."""
        says_more = self._board.mechanism.kind(answer.kind).says_more
        return float(answer.loss) if says_more and answer.loss is not None else None

    def shown(self) -> float:
        """Return the best loss that the board shows, at most that of a coin."""
        best = [state.best for state, _ in self._teams.values() if state.best is not None]
        return min([float(each / self._board.params.steps) for each in best] + [TRUTH])


def guess(front: Front, files: int, generator: np.random.Generator) -> float:
    """Send coins, and vote by what the board says of each (Blum and Hardt 2015)."""
    return _vote(front, files, generator, lambda file: 0)


def send_sybils(front: Front, files: int, generator: np.random.Generator) -> float:
    """Send one file of coins from each of many accounts, and vote (theory.md 10.4)."""
    return _vote(front, files, generator, lambda file: file)


def climb(front: Front, files: int, generator: np.random.Generator) -> float:
    """Flip some predictions, and keep what the board calls better."""
    labels = _coins(generator, front.rows)
    kept = _coins(generator, front.rows)
    best = math.inf
    for _ in range(files):
        flips = generator.random(front.rows) < 1 / math.sqrt(front.rows)
        tried = np.where(flips, 1 - kept, kept)
        loss = front.told(front.ask(int(np.count_nonzero(tried != labels)), 0.0))
        if loss is not None and loss < best:
            best, kept = loss, tried
    return float(np.mean(kept != labels))


def climb_public(front: Front, files: int, generator: np.random.Generator) -> float:
    """Fit the Public rows better with every file, and know nothing more of the Private ones."""
    for file in range(files):
        front.ask(int(generator.binomial(front.rows, TRUTH)), TRUTH * (1 - (file + 1) / files))
    return TRUTH


ATTACKS: Final[dict[str, Callable[[Front, int, np.random.Generator], float]]] = {
    "guesser": guess,
    "sybils": send_sybils,
    "hill climber": climb,
    "Public-score climber": climb_public,
}


def attack(name: str, front: Front, files: int, generator: np.random.Generator) -> Attack:
    """Let an attacker send so many files at most, as fit into a second."""
    most = min(files, MOST_FILES, max(2, MOST_CELLS // front.rows))
    loss = ATTACKS[name](front, most, generator)
    return Attack(name, front.length, TRUTH - front.shown(), TRUTH - loss)


def _vote(
    front: Front, files: int, generator: np.random.Generator, team: Callable[[int], int]
) -> float:
    """Return the loss of the vote; without any answer that says more, it is a coin's."""
    labels = _coins(generator, front.rows)
    votes = np.zeros(front.rows)
    for file in range(files):
        sent = _coins(generator, front.rows)
        # On Public rows, and as a claim, a perfect loss: so every answer is about the Private rows.
        loss = front.told(front.ask(int(np.count_nonzero(sent != labels)), 0.0, team(file)))
        if loss is not None:
            votes += (TRUTH - loss) * (2 * sent - 1)
    voted = np.where(votes == 0, _coins(generator, front.rows), votes > 0)
    return float(np.mean(voted != labels))


def _coins(generator: np.random.Generator, rows: int) -> Labels:
    return generator.integers(0, 2, rows, dtype=np.int8)
