"""The pair-flip attack: it walks the parameter-free Ladder down far below the true loss.

Labels are fair coins, so every prediction's true loss is 1/2. Each submission flips a few
predictions of the leader that were not tried before and keeps them if the board moves. Two flips
are taken by the parameter-free Ladder exactly when both were wrong: chance 1/4, gain 2/n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from research.experiments.boards import PLAIN_BOARDS, MechanismBoard, PlainBoard, breaks
from research.experiments.results import (
    Colour,
    Comparison,
    Known,
    Panel,
    Result,
    Samples,
    Series,
    Table,
    compare,
)
from research.mechanisms import free_ladder
from scoring.measurement import Mean


@dataclass(frozen=True)
class Scenario:
    """`rows` on the board among `total` rows; which ones is unknown to the attacker where total is
    larger. `flips` at a time, `submissions` times."""

    rows: int
    total: int
    submissions: int
    flips: int

    @property
    def name(self) -> str:
        return f"n={self.rows} of {self.total}, k={self.submissions}, {self.flips} flips"


MAIN: Final = Scenario(4000, 4000, 400, 2)
# With the loss of the parameter-free Ladder on the board's rows and on the others, as computed
# independently of this program.
SCENARIOS: Final[dict[Scenario, tuple[Known, Known | None]]] = {
    MAIN: (Known(0.4500), None),
    Scenario(4000, 4000, 1000, 2): (Known(0.3751), None),
    Scenario(4000, 12_000, 400, 6): (Known(0.4722), Known(0.4997)),
    Scenario(200, 200, 100, 2): (Known(0.2525), None),
}
FREE: Final = "parameter-free Ladder"
PLOTTED: Final[dict[str, Colour]] = {
    "plain": "other",
    "rounded to 2 decimals": "third",
    FREE: "fourth",
    "Ladder, step 1/63": "ours",
    "Thresholdout": "fifth",
}

Rows = NDArray[np.bool_]


class Accepts:
    """Whether a board lets the attacker see that a submission beats the leader."""

    broken = 0
    updates = 0

    def first(self, wrong: Rows) -> None:
        """Return the submission that the attack starts from."""

    def better(self, leader: Rows, wrong: Rows) -> bool:
        raise NotImplementedError


class AcceptsPlain(Accepts):
    """A plain board, which accepts what it shows as better."""

    def __init__(self, board: PlainBoard) -> None:
        self._board = board

    def better(self, leader: Rows, wrong: Rows) -> bool:
        means = np.array([np.count_nonzero(rows) for rows in (leader, wrong)]) / len(wrong)
        before, after = self._board.show(means)
        self.updates += bool(after < before)
        return bool(after < before)


class AcceptsFree(Accepts):
    """The parameter-free Ladder."""

    def better(self, leader: Rows, wrong: Rows) -> bool:
        improves = free_ladder.improves(leader, wrong)
        self.updates += improves
        return improves


class AcceptsMechanism(Accepts):
    """Reference rows are others than the board's, and the attacker leaves them alone."""

    def __init__(
        self, mechanism: str, raw: dict[str, object], generator: np.random.Generator
    ) -> None:
        self._board = MechanismBoard(mechanism, raw, generator)
        self._shown: float | None = None

    def first(self, wrong: Rows) -> None:
        self._ask(wrong)

    def better(self, leader: Rows, wrong: Rows) -> bool:
        before = self._shown
        return self._ask(wrong) and before is not None and (self._shown or 0.0) < before

    def _ask(self, wrong: Rows) -> bool:
        rows = len(wrong)
        mean = Mean(int(np.count_nonzero(wrong)), rows, 1)
        answer = self._board.ask(mean, Mean(rows // 2, rows, 1))
        self.broken += breaks(answer, 0.5)
        new = answer.kind in {"improved", "confirmed", "corrected"}
        self.updates += answer.kind in {"improved", "corrected"}
        if new and answer.loss is not None:
            self._shown = float(answer.loss)
        return new


Enter = Callable[[np.random.Generator], Accepts]


def _plain(board: PlainBoard) -> Enter:
    return lambda generator: AcceptsPlain(board)


def _mechanism(name: str, raw: dict[str, object]) -> Enter:
    return lambda generator: AcceptsMechanism(name, raw, generator)


BOARDS: Final[dict[str, Enter]] = {
    **{board.name: _plain(board) for board in PLAIN_BOARDS},
    FREE: lambda generator: AcceptsFree(),
    "Ladder, step 1/63": _mechanism("ladder", {"steps": 63}),
    "Ladder, step 1/20": _mechanism("ladder", {"steps": 20}),
    "Thresholdout": _mechanism("thresholdout", {}),
}


@dataclass(frozen=True)
class Outcome:
    """Losses of the leader after each submission on the board's rows, at the end on the others."""

    curve: Samples
    others: float | None
    updates: int
    broken: int


@dataclass(frozen=True)
class Start:
    """Which rows the first submission has wrong, which are the board's, the order of the flips."""

    wrong: Rows
    on_board: Rows
    order: NDArray[np.int64]


def start(scenario: Scenario, generator: np.random.Generator) -> Start:
    """Draw coins for predictions, a random split, a random order."""
    on_board = np.zeros(scenario.total, dtype=bool)
    on_board[generator.permutation(scenario.total)[: scenario.rows]] = True
    wrong = generator.integers(0, 2, scenario.total).astype(bool)
    return Start(wrong, on_board, generator.permutation(scenario.total))


def attack(scenario: Scenario, begin: Start, accepts: Accepts) -> Outcome:
    """Attack one board once."""
    leader = begin.wrong[begin.on_board]
    place_on_board = np.where(begin.on_board, np.cumsum(begin.on_board) - 1, -1)
    others = begin.wrong.copy()
    accepts.first(leader)
    curve = np.empty(scenario.submissions + 1)
    curve[0] = leader.mean()
    for place in range(scenario.submissions):
        flipped = begin.order[place * scenario.flips : (place + 1) * scenario.flips]
        places = place_on_board[flipped]
        trial = leader.copy()
        trial[places[places >= 0]] ^= True
        if accepts.better(leader, trial):
            leader = trial
            others[flipped] ^= True
        curve[place + 1] = np.count_nonzero(leader) / scenario.rows
    rest = float(others[~begin.on_board].mean()) if scenario.total > scenario.rows else None
    return Outcome(curve, rest, accepts.updates, accepts.broken)


def run(runs: int, seed: int, scenarios: tuple[Scenario, ...] = tuple(SCENARIOS)) -> Result:
    """Play the first scenario against every board, the others against the parameter-free Ladder."""
    generator = np.random.default_rng(seed)
    starts = [start(scenarios[0], generator) for _ in range(runs)]
    main = {
        name: [attack(scenarios[0], begin, enter(generator)) for begin in starts]
        for name, enter in BOARDS.items()
    }
    free = {scenarios[0]: main[FREE]} | {
        scenario: [attack(scenario, start(scenario, generator), AcceptsFree()) for _ in range(runs)]
        for scenario in scenarios[1:]
    }
    return Result(
        "pairflip",
        "Pair-flip attack: every prediction's true loss is 1/2",
        {"runs": runs, "seed": seed},
        tuple(line for scenario in scenarios for line in _comparisons(scenario, free[scenario])),
        (_table(scenarios[0], main),),
        (_panel(scenarios[0], main),),
    )


def _comparisons(scenario: Scenario, outcomes: list[Outcome]) -> list[Comparison]:
    board, others = SCENARIOS.get(scenario, (None, None))
    ends = [float(outcome.curve[-1]) for outcome in outcomes]
    lines = [compare(f"{FREE}, {scenario.name}", ends, board)]
    rest = [outcome.others for outcome in outcomes if outcome.others is not None]
    if rest:
        lines.append(compare(f"{FREE}, {scenario.name}, other rows", rest, others))
    return lines


def _table(scenario: Scenario, main: dict[str, list[Outcome]]) -> Table:
    return Table(
        f"Every board, {scenario.name}",
        ("board", "board's loss at the end", "truth", "moves a run", "wrong certificates"),
        tuple(
            (
                name,
                float(np.mean([outcome.curve[-1] for outcome in outcomes])),
                0.5,
                float(np.mean([outcome.updates for outcome in outcomes])),
                sum(outcome.broken for outcome in outcomes),
            )
            for name, outcomes in main.items()
        ),
    )


def _panel(scenario: Scenario, main: dict[str, list[Outcome]]) -> Panel:
    x = range(scenario.submissions + 1)
    series = [
        Series(name, x, np.mean([outcome.curve for outcome in main[name]], axis=0), colour)
        for name, colour in PLOTTED.items()
    ]
    series.append(
        Series(
            "plain and free, in theory",
            x,
            [0.5 - k / (2 * scenario.rows) for k in x],
            "truth",
            dashed=True,
        )
    )
    return Panel(scenario.name, "submissions", "loss on the board's rows", tuple(series))
