"""What a program may ask: the exact score, the rounded one, the Ladder, Guard, or gates.

Ladder and Guard answer by `scoring.ledger.ask`, gates by `scoring.gates`: as boards, the local
oracle and the verifiers do. Beside these, the exact Public loss is published, and programs go by
it; before the others they go by the Private loss that they are shown.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from research.experiments.oracle_models import Sizes
from scoring.gates import Evidence, Gate, charge_gate, count_left, gate_length, passes, promise
from scoring.guarantees.certificate import certify
from scoring.laws import VERSION
from scoring.laws.books import Account
from scoring.laws.exact import MILLION
from scoring.ledger import Board, Standing, Terms, ask, begin
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import get
from scoring.mechanisms.base import State, TeamState
from scoring.mechanisms.reference import CORRECTED
from scoring.noise import SteadyNoise

BETA: Final = Fraction(1, 20)
DIGITS: Final = 2
GATES: Final = 32
MARK_STEP: Final = Fraction(1, 100)  # of loss
ASKING_STEP: Final = Fraction(1, 200)
LADDER: Final = {"steps": "50"}
# For one team, the planner proposes 3 standard errors.
GUARD: Final = {"steps": "250", "errors": "3", "budget": "5"}


@dataclass(frozen=True)
class Reply:
    """One answer. guide: the loss by which a program goes on, None where it has to go back.

    shown: the loss that it may claim for this model. bound: a function that returns the largest
    true loss that the oracle promises beside it, None where nothing is promised.
    """

    guide: float | None
    shown: float | None
    bound: Callable[[], float | None] = lambda: None


class Oracle(ABC):
    """Answers a program's calls."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    @property
    @abstractmethod
    def nats(self) -> float:
        """Return how much all answers said of the Private rows, at most: a code's length."""

    @abstractmethod
    def answer(self, public: int, private: int) -> Reply:
        """Answer one call, about a model that gets so many rows wrong."""


class Plain(Oracle):
    """Shows the private loss."""

    digits: int | None = None

    @property
    def nats(self) -> float:
        values = self.sizes.private if self.digits is None else 10**self.digits
        return self.sizes.calls * math.log(values + 1)

    def answer(self, public: int, private: int) -> Reply:
        loss = private / self.sizes.private
        shown = loss if self.digits is None else round(loss, self.digits)
        return Reply(shown, shown)


class Rounded(Plain):
    """Shows the private loss in a few digits."""

    digits = DIGITS


class Behind(Oracle):
    """A board: one team before a ledger that has declared all calls."""

    def __init__(self, sizes: Sizes, mechanism: str, raw: dict[str, str]) -> None:
        super().__init__(sizes)
        found = get(mechanism)
        params: Any = found.parse({**raw, "confidence": str(1 - BETA)})
        self._board = Board("board", found, params, sizes.private, sizes.public)
        self._terms = begin([(found, self._board.laws)], question_limit=sizes.calls)
        self._standing = Standing(State(found.initial_holdout(params), TeamState()), Account())
        self._is_exhausted = False

    @property
    def nats(self) -> float:
        first, now = Account(), self._standing.account
        return (now.length(self._terms.weight) - first.length(self._terms.weight)) / MILLION

    def answer(self, public: int, private: int) -> Reply:
        if self._is_exhausted:  # for good: no answer says anything any more
            return Reply(None, None)
        measured = Measurement(
            Mean(private, self.sizes.private, 1), Mean(public, self.sizes.public, 1)
        )
        found = ask(self._terms, self._board, self._standing, measured, SteadyNoise())
        self._standing, answer, length = found
        kind = self._board.mechanism.kind(answer.kind)
        self._is_exhausted = kind.bounds == "nothing"
        guide = None if self._is_exhausted else public / self.sizes.public
        if kind.shows != "own" or answer.loss is None:
            return Reply(guide, None)
        shown = float(answer.loss)

        def bound() -> float | None:
            promised = certify(answer, self.sizes.private, length=length)
            return None if promised is None else promised.high

        return Reply(shown if answer.kind == CORRECTED.code else guide, shown, bound)


class Gates(Oracle):
    """Asks gates whether a model reaches the next mark: those passed are what it may be said to do.

    It asks whenever the Public loss has come down by a step since it asked last. A call beyond the
    declared gates asks nothing.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self._terms = Terms(version=VERSION, gate_limit=GATES)
        self._account = Account()
        self._mark: Fraction | None = None
        self._next = Fraction(1)

    @property
    def nats(self) -> float:
        return self._account.gates * math.log(2)

    def answer(self, public: int, private: int) -> Reply:
        loss = Fraction(public, self.sizes.public)
        if self._mark is None:
            self._mark = Fraction(math.floor(loss / MARK_STEP)) * MARK_STEP
        unasked = Reply(float(loss), None)
        if loss > self._next or not count_left(self._terms, self._account):
            return unasked
        self._next = loss - ASKING_STEP
        gate = Gate("mark", self._mark)
        length = gate_length(self._terms, self._account, BETA)
        self._account = charge_gate(self._account)
        if not passes(gate, Evidence(Mean(private, self.sizes.private, 1)), length):
            return unasked
        self._mark -= MARK_STEP
        promised = promise(gate, length, self.sizes.private).high
        return replace(unasked, shown=float(gate.bound), bound=lambda: promised)


ORACLES: Final[dict[str, Callable[[Sizes], Oracle]]] = {
    "plain": Plain,
    "rounded": Rounded,
    "ladder": lambda sizes: Behind(sizes, "ladder", LADDER),
    "guard": lambda sizes: Behind(sizes, "guard", GUARD),
    "gate": Gates,
}
