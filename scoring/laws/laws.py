"""Laws that foresee single answers, from earlier answers and the question alone (theory.md 10.1).

An answer is a level, or None where it says only "no". A law foresees it in two parts: whether there
is a level, a bit that is learned in each context by itself (Krichevsky and Trofimov 1981), and
which, by its distance from where it is expected. All probabilities are fractions, so that everybody
finds the same.

What may never change: a law. Another rule is another law, and another `VERSION`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from scoring.errors import StateError
from scoring.guarantees.conditions import require_positive
from scoring.laws.exact import floor_less_root, micro

NEAR: Final = 8  # the distances that are learned
_LEARNED: Final = Fraction(15, 16)  # the rest goes to all possible levels alike
_MOST_HALF_ERRORS: Final = 6
_CORRECTIONS_TOLD_APART: Final = 2

# Ranges of possible levels, each with what is added to a level to count it from where it is
# expected.
Sides = tuple[tuple[range, int], ...]


class Question(Protocol):
    """What is known of a question before its answer, besides the team.

    alphabet: how many levels the answer can have.
    """

    @property
    def alphabet(self) -> int: ...


Q = TypeVar("Q", bound=Question)


@dataclass(frozen=True)
class Improvement:
    """Whether a loss is below level `best` by more than a step, and at which level: the Ladder's.

    best: None where the answer shows any level, as a team's first does without a rung; at least 2
    otherwise, since nothing improves on less. public: the exact loss on Public rows, if any.
    """

    steps: int
    best: int | None
    public: Fraction | None = None

    @property
    def alphabet(self) -> int:
        """Return the number of levels below the best, or of all."""
        return self.steps + 1 if self.best is None else self.best


@dataclass(frozen=True)
class Agreement:
    """Whether a loss lies in a band, and at which level beyond: Guard's.

    low, high: the highest level that a mean below the band is rounded to, and the lowest of one
    above it; None where no mean lies there, but not both.
    """

    steps: int
    low: int | None
    high: int | None

    @property
    def alphabet(self) -> int:
        """Return the number of levels beyond the band."""
        return sum(len(levels) for levels, _ in self.sides)

    @property
    def sides(self) -> Sides:
        """Return the levels below, which count -1, -2, ..., and those above: 1, 2, ..."""
        below = () if self.low is None else ((range(self.low + 1), -self.low - 1),)
        above = () if self.high is None else ((range(self.high, self.steps + 1), 1 - self.high),)
        return below + above


@dataclass(frozen=True)
class Disclosure:
    """Whether a mechanism says more than "no", and which of so many values: any mechanism's."""

    alphabet: int


@dataclass(frozen=True)
class Expected:
    """Where a law expects an answer.

    context: of the bit, None where there is surely a level. sides: the possible levels, none where
    all are expected alike.
    """

    context: int | None
    sides: Sides = ()


@dataclass(frozen=True)
class LawState:
    """What a law has learned from the answers of all teams, and their length under it.

    bits: by context, how many answers had no level and how many had one. values: how many levels
    had each distance, up to NEAR. length: in millionths of a nat, None once it ruled an answer out.
    """

    bits: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[int, int] = field(default_factory=dict)
    length: int | None = 0

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, the same for equal states."""
        return {
            "bits": {str(context): list(self.bits[context]) for context in sorted(self.bits)},
            "values": {str(value): self.values[value] for value in sorted(self.values)},
            "length": self.length,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "LawState":
        """Return the state that was stored."""
        bits = {int(context): (no, yes) for context, (no, yes) in stored["bits"].items()}
        values = {int(value): count for value, count in stored["values"].items()}
        return cls(bits, values, stored["length"])


class Law(ABC, Generic[Q]):
    """A sequential law: it foresees each answer from the state and the question.

    Its memory of a team is one fraction, 0 before the team asks.
    """

    name: ClassVar[str]

    @abstractmethod
    def expect(self, memory: Fraction, question: Q) -> Expected | None:
        """Return where the answer is expected; None where it is surely a "no"."""

    def remember(self, memory: Fraction, question: Q, level: int | None) -> Fraction:
        """Return the memory of a team after an answer to it."""
        return memory

    def probability(
        self, state: LawState, memory: Fraction, question: Q, level: int | None
    ) -> Fraction:
        """Return the probability of an answer. Raises StateError if none can be so."""
        return _probability(state, self.expect(memory, question), question.alphabet, level)

    def advance(
        self, state: LawState, memory: Fraction, question: Q, level: int | None
    ) -> tuple[LawState, Fraction]:
        """Return the state and the memory of the team after an answer."""
        expected = self.expect(memory, question)
        probability = _probability(state, expected, question.alphabet, level)
        length = state.length
        if length is not None:
            length = length + micro(probability) if probability else None
        bits, values = state.bits, state.values
        if expected is not None and expected.context is not None:
            no, yes = bits.get(expected.context, (0, 0))
            counted = (no + 1, yes) if level is None else (no, yes + 1)
            bits = {**bits, expected.context: counted}
        if expected is not None and expected.sides and level is not None:
            value = _distance(expected.sides, level)
            if abs(value) <= NEAR:
                values = {**values, value: values.get(value, 0) + 1}
        return LawState(bits, values, length), self.remember(memory, question, level)


class Learned(Law[Improvement]):
    """The Ladder's law without Public rows: how far a team has come, by how often it asked."""

    name = "learned"

    def expect(self, memory: Fraction, question: Improvement) -> Expected | None:
        if question.best is None:
            return Expected(None)
        sides = ((range(question.best), 1 - question.best),)
        return Expected(bucket(int(memory)), sides)

    def remember(self, memory: Fraction, question: Improvement, level: int | None) -> Fraction:
        return memory + 1


class Public(Law[Improvement]):
    """The Ladder's law by the score on Public rows and how far the team's was off before."""

    name = "public"

    def __init__(self, public_rows: int, private_rows: int) -> None:
        require_positive(public_rows=public_rows, private_rows=private_rows)
        self._rows = public_rows, private_rows

    def expect(self, memory: Fraction, question: Improvement) -> Expected | None:
        steps, loss = question.steps, _public_loss(question)
        expected = loss + memory
        centre = math.floor(expected * steps + Fraction(1, 2))
        if question.best is None:
            return Expected(None, ((range(question.alphabet), -centre),))
        gap = Fraction(question.best - 1, steps) - expected
        sides = ((range(question.best), -min(question.best - 1, centre)),)
        return Expected(z_bucket(gap, loss, *self._rows), sides)

    def remember(self, memory: Fraction, question: Improvement, level: int | None) -> Fraction:
        """Return how much higher the loss on Private rows may be expected than on Public ones."""
        loss = _public_loss(question)
        if level is not None:
            return Fraction(level, question.steps) - loss
        if question.best is None:
            raise StateError("This question is answered by a level.")
        return max(memory, Fraction(question.best - 1, question.steps) - loss)


class Never(Law[Agreement]):
    """A law of Guard: no loss is ever corrected."""

    name = "never"

    def expect(self, memory: Fraction, question: Agreement) -> Expected | None:
        return None


class Corrections(Law[Agreement]):
    """A law of Guard: teams are corrected as often as teams with as many corrections were."""

    name = "guard"

    def expect(self, memory: Fraction, question: Agreement) -> Expected | None:
        return Expected(min(int(memory), _CORRECTIONS_TOLD_APART), question.sides)

    def remember(self, memory: Fraction, question: Agreement, level: int | None) -> Fraction:
        return memory + (level is not None)


class Plain(Law[Question]):
    """A law for any mechanism: some part of the answers says more than "no", any value alike."""

    name = "plain"

    def expect(self, memory: Fraction, question: Question) -> Expected | None:
        return Expected(0)


def kt_probability(ones: int, bits: int) -> Fraction:
    """Return the probability of a one after so many ones among bits: (ones + 1/2) / (bits + 1)."""
    return Fraction(2 * ones + 1, 2 * bits + 2)


def level_probability(counts: Mapping[int, int], sides: Sides, level: int) -> Fraction:
    """Return the probability of a level, from the distances of earlier ones.

    15/16 are for the distances up to NEAR as often as they were seen, half a time more each, and
    1/16 for all levels alike; all of it where no level is near. Raises StateError for a level that
    is not among the possible ones.
    """
    value = _distance(sides, level)
    alike = Fraction(1, sum(len(levels) for levels, _ in sides))
    near = list(_near(sides))
    if not near:
        return alike
    learned = Fraction(0)
    if abs(value) <= NEAR:
        seen = sum(counts.get(each, 0) for each in near)
        learned = Fraction(2 * counts.get(value, 0) + 1, 2 * seen + len(near))
    return _LEARNED * learned + (1 - _LEARNED) * alike


def bucket(earlier: int) -> int:
    """Return 0, 1, 2, 3, 4, ... for 0, 1, 2, 3 to 4, 5 to 8, ... earlier questions."""
    return (earlier - 1).bit_length() + 1 if earlier else 0


def z_bucket(gap: Fraction, loss: Fraction, public_rows: int, private_rows: int) -> int:
    """Return floor(2 gap / se) cut to -6..6: a gap in half standard errors, exactly.

    se^2 = max(e (1 - e), 1/n) (1/a + 1/n) for a loss of e on a public and n private rows.
    """
    variance = max(loss * (1 - loss), Fraction(1, private_rows)) * (
        Fraction(1, public_rows) + Fraction(1, private_rows)
    )
    squared = 4 * gap * gap / variance
    if gap >= 0:
        return min(_MOST_HALF_ERRORS, math.isqrt(math.floor(squared)))
    return max(-_MOST_HALF_ERRORS, floor_less_root(Fraction(0), squared))


def _probability(
    state: LawState, expected: Expected | None, alphabet: int, level: int | None
) -> Fraction:
    if expected is None:
        return Fraction(level is None)
    has_level = Fraction(1)
    if expected.context is not None:
        no, yes = state.bits.get(expected.context, (0, 0))
        has_level = kt_probability(yes, no + yes)
    elif level is None:
        raise StateError("This question is answered by a level.")
    if level is None:
        return 1 - has_level
    if not expected.sides:
        return has_level / alphabet
    return has_level * level_probability(state.values, expected.sides, level)


def _near(sides: Sides) -> Iterator[int]:
    for levels, shift in sides:
        yield from range(max(levels.start + shift, -NEAR), min(levels.stop + shift, NEAR + 1))


def _distance(sides: Sides, level: int) -> int:
    for levels, shift in sides:
        if level in levels:
            return level + shift
    raise StateError("No answer to this question shows this level.")


def _public_loss(question: Improvement) -> Fraction:
    if question.public is None:
        raise StateError("This law needs the loss on the Public rows.")
    return question.public
