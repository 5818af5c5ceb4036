"""What every mechanism is: a state in, a measurement in, a state out, an answer out.

A grid index is called a level: level L of `steps` stands for the loss L / steps, lower is better.
Everything here is frozen and validated where it is built, so that `step` never meets an impossible
state.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, TypeVar, get_args

from scoring.errors import StateError
from scoring.measurement import Mean, Measurement
from scoring.noise import Noise
from scoring.parameters import Parameter

Kind = Literal["confirmed", "corrected", "improved", "not_improved", "pass", "fail", "exhausted"]
KINDS: tuple[str, ...] = get_args(Kind)
NO_CERTIFICATE = 0.5


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise StateError(message)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_count_or_none(value: object) -> bool:
    return value is None or _is_count(value)


@dataclass(frozen=True)
class HoldoutState:
    """The head of a holdout's ledger, shared by all teams.

    `asked`: submissions scored, i. `answered`: answers that said more than "no", f.
    `log_alphabets`: sum of ln(number of values each of those could have had). `firings`: index of
    the noisy threshold in force. `budget_left`: answers not yet given to any team's share, None
    where the mechanism has no budget.
    """

    asked: int = 0
    answered: int = 0
    log_alphabets: float = 0.0
    firings: int = 0
    budget_left: int | None = None

    def __post_init__(self) -> None:
        _require(_is_count(self.asked), "asked is a count.")
        _require(_is_count(self.answered), "answered is a count.")
        _require(_is_count(self.firings), "firings is a count.")
        _require(_is_count_or_none(self.budget_left), "budget_left is a count or absent.")
        _require(self.firings <= self.answered <= self.asked, "firings <= answered <= asked.")
        _require(
            type(self.log_alphabets) is float
            and math.isfinite(self.log_alphabets)
            and self.log_alphabets >= 0,
            "log_alphabets is a finite float, not negative.",
        )


@dataclass(frozen=True)
class TeamState:
    """What the mechanism remembers of one team: its best and its latest released level, and how
    many answers are left of its share (None where the mechanism has no budget)."""

    best: int | None = None
    last: int | None = None
    share_left: int | None = None

    def __post_init__(self) -> None:
        _require(_is_count_or_none(self.best), "best is a level or absent.")
        _require(_is_count_or_none(self.last), "last is a level or absent.")
        _require(_is_count_or_none(self.share_left), "share_left is a count or absent.")
        if self.best is None or self.last is None:
            _require(self.best is self.last, "best and last are both present or both absent.")
        else:
            _require(self.best <= self.last, "The best level is at most the last.")


@dataclass(frozen=True)
class State:
    """Everything that a step reads and writes."""

    holdout: HoldoutState
    team: TeamState


@dataclass(frozen=True)
class Answer:
    """What the mechanism says about one submission; all of it may be published.

    kind: what happened.
    level: the loss that the board shows, as a grid index of `steps`; None where there is none yet.
        For "not_improved" and "exhausted" it belongs to an earlier submission of the team.
    reference_level: the loss on the reference rows on the same grid, None where there are none.
    width: w of the ledger, a function of published facts only (theory.md 2.1, 4.5).
    tolerance: all that lies between the shown loss and the holdout mean besides w: threshold and
        noise quantiles, half a grid step; 1 where the shown loss says nothing of this submission.
        For "not_improved", "pass" and "fail" the bound is one-sided.
    counted: whether the ledger counted the question; False only for a stored answer given again.
    asked: the number i of this question on its holdout, from 1.
    """

    kind: Kind
    level: int | None
    reference_level: int | None
    steps: int
    width: float
    tolerance: float
    counted: bool
    asked: int

    def __post_init__(self) -> None:
        _require(self.kind in KINDS, "An answer has a known kind.")
        _require(type(self.steps) is int and self.steps >= 1, "A grid has at least one step.")
        _require(self._on_grid(self.level), "A level lies on the grid.")
        _require(self._on_grid(self.reference_level), "A reference level lies on the grid.")
        for size in (self.width, self.tolerance):
            _require(
                type(size) is float and math.isfinite(size) and size >= 0,
                "Width and tolerance are finite floats, not negative.",
            )
        _require(type(self.counted) is bool, "counted is true or false.")
        _require(_is_count(self.asked) and self.asked >= 1, "Questions are counted from 1.")

    def _on_grid(self, level: int | None) -> bool:
        return level is None or (type(level) is int and 0 <= level <= self.steps)

    @property
    def certificate(self) -> float | None:
        """width + tolerance; None when it is 0.5 or more, where it would certify nothing."""
        total = self.width + self.tolerance
        return total if total < NO_CERTIFICATE else None

    @property
    def loss(self) -> Fraction | None:
        """The shown loss, exactly."""
        return None if self.level is None else Fraction(self.level, self.steps)

    @property
    def reference_loss(self) -> Fraction | None:
        """The loss on the reference rows, rounded to the grid."""
        if self.reference_level is None:
            return None
        return Fraction(self.reference_level, self.steps)


class MetricFacts(Protocol):
    """What a mechanism needs to know of a metric. See `scoring.metrics.Metric`."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...


class RowCounts(Protocol):
    """How many rows a solution has of each usage that matters here."""

    @property
    def public(self) -> int: ...

    @property
    def private(self) -> int: ...


P = TypeVar("P")


class Mechanism(Protocol[P]):
    """A rule for what leaves the holdout. `P` is its frozen dataclass of parameters.

    All methods are pure: the same arguments give the same results, and nothing is remembered.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def description(self) -> str:
        """One or two plain sentences for the board."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def parse(self, raw: Mapping[str, object]) -> P:
        """Parameters from what an organizer typed; missing ones take their defaults.

        Raises ParameterError naming the field.
        """
        ...

    def check(self, params: P, metric: MetricFacts, counts: RowCounts) -> None:
        """Raises ParameterError, saying why, if this metric or holdout does not fit."""
        ...

    def initial_holdout(self, params: P) -> HoldoutState:
        """The state of a holdout that nobody has asked anything."""
        ...

    def initial_team(self, params: P, holdout: HoldoutState) -> tuple[HoldoutState, TeamState]:
        """A team's state at its first scored submission, and the holdout without the team's share.

        If less than a whole share is left, the team gets none and is exhausted from the start.
        """
        ...

    def question(self, params: P, state: State, reference: Mean | None = None) -> str:
        """What is asked of the holdout, besides the predictions.

        It keys the noise and finds stored answers: the same team asking the same question about the
        same predictions gets the answer that it already has. The firing index is not part of it.
        `reference` is that of the measurement: where teams claim a score, the claim is part of the
        question. Raises StateError where a claim is missing.
        """
        ...

    def step(
        self, params: P, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        """Answers one question.

        `noise` must be keyed by this holdout, these predictions and the question above.
        Raises StateError if the state does not belong to these parameters.
        """
        ...
