"""The contract of a mechanism: a state in, a measurement in, a state out, an answer out.

A mechanism is one file that subclasses `Mechanism` and says everything of itself: its parameters,
the kinds of answers it gives and their words, when to choose it, what it needs. Nothing outside
compares its name or its kinds' codes. Texts are English templates with named fields; they are
translated where they are shown.

A grid index is called a level: level L of `steps` stands for the loss L / steps, lower is better.
Everything here is frozen and validated where it is built, so that `step` never meets an impossible
state.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from scoring.errors import ParameterError, StateError
from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.laws.laws import Disclosure, Law, Plain, Question
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.kinds import CODE, EXHAUSTED, LIMIT, AnswerKind
from scoring.mechanisms.needs import MetricFacts, Need, RowCounts
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter

Reference = Literal["optional", "public", "claim"]


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
    the active noisy threshold. `budget_left`: answers that are in no team's share yet, None
    where the mechanism has no budget. `length`: what the next question's width follows from, L in
    millionths of a nat by the ledger's laws; None where it is the count of the first three.
    """

    asked: int = 0
    answered: int = 0
    log_alphabets: float = 0.0
    firings: int = 0
    budget_left: int | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        _require(_is_count(self.asked), "asked is a count.")
        _require(_is_count(self.answered), "answered is a count.")
        _require(_is_count(self.firings), "firings is a count.")
        _require(_is_count_or_none(self.budget_left), "budget_left is a count or absent.")
        _require(_is_count_or_none(self.length), "length is a count or absent.")
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
    many answers are left of its share (None as long as it took none from a budget)."""

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

    kind: what happened, the code of an `AnswerKind`.
    level: the loss that the board shows, as a grid index of `steps`; None where there is none yet.
        Whose loss it is depends on the kind (`AnswerKind.shows`).
    reference_level: the loss on the reference rows on the same grid, None where there are none.
    width: w of the ledger, a function of published facts only (theory.md 2.1, 4.5).
    tolerance: all that lies between the shown loss and the holdout mean besides w: threshold and
        noise quantiles, half a grid step; 1 where the shown loss says nothing of this submission.
        The bound may be one-sided (`AnswerKind.bounds`).
    asked: the number i of this question on its holdout, from 1.
    """

    kind: str
    level: int | None
    reference_level: int | None
    steps: int
    width: float
    tolerance: float
    asked: int

    def __post_init__(self) -> None:
        _require(bool(CODE.fullmatch(self.kind)), "An answer has a kind.")
        _require(type(self.steps) is int and self.steps >= 1, "A grid has at least one step.")
        _require(self._on_grid(self.level), "A level lies on the grid.")
        _require(self._on_grid(self.reference_level), "A reference level lies on the grid.")
        for size in (self.width, self.tolerance):
            _require(
                type(size) is float and math.isfinite(size) and size >= 0,
                "Width and tolerance are finite floats, not negative.",
            )
        _require(_is_count(self.asked) and self.asked >= 1, "Questions are counted from 1.")

    def _on_grid(self, level: int | None) -> bool:
        return level is None or (type(level) is int and 0 <= level <= self.steps)

    @property
    def certificate(self) -> float | None:
        """Return width and tolerance together; None where that certifies nothing."""
        total = self.width + self.tolerance
        return total if total < NO_CERTIFICATE else None

    @property
    def loss(self) -> Fraction | None:
        """Return the shown loss, exactly; None where there is none."""
        return None if self.level is None else Fraction(self.level, self.steps)


@dataclass(frozen=True)
class Advice:
    """When to choose a mechanism: what it fits, what it protects, what it costs."""

    fits: str
    protects: str
    costs: str


@dataclass(frozen=True)
class Unit:
    """What a budget is counted in: templates for one and for several, with the field {count}."""

    one: str
    several: str


class Params(Protocol):
    """What the parameters of every mechanism have.

    steps: the grid of released losses. confidence: of its guarantees, 1 - beta. alphabet: the most
    values that an answer can have.
    """

    @property
    def steps(self) -> int: ...

    @property
    def confidence(self) -> Fraction: ...

    @property
    def alphabet(self) -> int: ...


P = TypeVar("P", bound=Params)


class Mechanism(ABC, Generic[P]):
    """A rule for what leaves the holdout. `P` is its frozen dataclass of parameters.

    All methods are pure: the same arguments give the same results, and nothing is remembered.

    name: how competitions name it, for good. title, description: its name on pages, and one or two
        plain sentences. explanation: how it works, in paragraphs with an empty line between them.
    metric_kinds: which kinds of metrics it takes, None for all; `check` says why not.
    takes_custom_metrics: whether it takes metrics of which nothing is proven but their range.
    unit: of its budget, None where it has none.
    counted: whether a ledger's code mixes the count of theory.md 2.1 with its laws.
    duels: whether files that lead a board are compared (theory.md 10.9): where answers are cheap.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    explanation: ClassVar[str]
    advice: ClassVar[Advice]
    parameters: ClassVar[tuple[Parameter, ...]]
    kinds: ClassVar[tuple[AnswerKind, ...]]
    metric_kinds: ClassVar[frozenset[str] | None] = None
    takes_custom_metrics: ClassVar[bool] = False
    unit: ClassVar[Unit | None] = None
    counted: ClassVar[bool] = True
    duels: ClassVar[bool] = False

    @property
    def shows_scores(self) -> bool:
        """Return whether a board of it has scores: some answer shows the submission's own loss."""
        return any(kind.shows == "own" for kind in self.kinds)

    def kind(self, code: str) -> AnswerKind:
        """Return the kind of answers of this code, its own or one that every ledger can give.

        Raises StateError for another one.
        """
        for kind in (*self.kinds, EXHAUSTED, LIMIT):
            if kind.code == code:
                return kind
        raise StateError("This mechanism gives no such answer.")

    @abstractmethod
    def parse(self, raw: Mapping[str, object]) -> P:
        """Parse what an organizer typed; missing parameters take their defaults.

        Raises ParameterError naming the field.
        """

    @abstractmethod
    def check(self, params: P, metric: MetricFacts, counts: RowCounts) -> None:
        """Raise ParameterError, saying why, if this metric or holdout does not fit."""

    def check_apart(self, params: P, teams: int) -> None:
        """Raise ParameterError if an answer to one of so many teams may depend on those to others.

        Where a board is hidden until the end, none does (theory.md 10.5).
        """
        if self.initial_holdout(params).budget_left is not None:
            raise ParameterError(
                "mechanism",
                f"{self.title} answers all teams from one state, so that answers to one would tell "
                "of others. For a board that is hidden until the end take the Ladder or Guard.",
            )

    def reference(self, params: P) -> Reference:
        """Return what a submission is compared with: Public rows, the team's claim, or nothing.

        Where it is "optional", the loss on Public rows is shown if there are any.
        """
        return "optional"

    def draft(self, need: Need) -> Iterable[dict[str, str]]:
        """Yield parameters, as texts, that may suit a competition that is still to come."""
        return ()

    def initial_holdout(self, params: P) -> HoldoutState:
        """Return the state of a holdout that nobody has asked anything."""
        return HoldoutState()

    @abstractmethod
    def question(self, params: P, state: State, reference: Mean | None = None) -> str:
        """Return what is asked of the holdout, besides the predictions.

        It keys the noise and finds stored answers: the same team asking the same question about the
        same predictions gets the answer that it already has. The firing index is not part of it.
        `reference` is that of the measurement: where teams claim a score, the claim is part of the
        question. Raises StateError where a claim is missing.
        """

    @abstractmethod
    def step(
        self, params: P, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        """Answer one question.

        `noise` must be keyed by this holdout, this board and team, these predictions and the
        question above. Raises StateError if the state does not belong to these parameters.
        """

    def ledger_beta(self, params: P) -> Fraction:
        """Return the part of beta that the ledger has; the rest is for the mechanism's noise."""
        return 1 - params.confidence

    def laws(self, params: P, private_rows: int, public_rows: int) -> tuple[Law[Any], ...]:
        """Return the laws that foresee a board's answers, in an order that never changes.

        By the last one is counted what a team's answers cost, where that is capped.
        """
        return (Plain(),)

    def law_question(
        self, params: P, state: State, private_rows: int, reference: Mean | None
    ) -> Question | None:
        """Return what laws know of a question before its answer, by the state before it.

        None where it is certain that the answer says only "no"; that costs nothing.
        """
        share_left, budget_left = state.team.share_left, state.holdout.budget_left
        exhausted = (budget_left if share_left is None else share_left) == 0
        return None if exhausted else Disclosure(params.alphabet)

    def law_answer(self, kind: str, level: int | None) -> int | None:
        """Return an answer as laws know it: its level, None if it says only "no"."""
        return (level or 0) if self.kind(kind).says_more else None

    @abstractmethod
    def account_for(
        self,
        params: P,
        kind: str,
        loss: Fraction | None,
        whole: int,
        reference: Fraction | None = None,
    ) -> tuple[int, SteadyNoise]:
        """Return units of a holdout mean, of `whole`, and noise, that lead to this answer.

        `reference` is the loss on the reference rows as shown.

        With them `step` computes again all that a published answer has besides its kind and its
        shown loss, without the holdout. For what no `step` can answer they lead to something else.
        """
