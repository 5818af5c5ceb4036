"""What a ledger keeps of its answers, and what question t may rest on: its L_t.

A ledger has one count for all of its boards, each board the states of its laws, and each team on a
board what they remember of it. Their code is one mixture, with weights fixed when the ledger
begins:

    Q_t = 49/50 events (w count + (1 - w) product over boards of mean over its laws).

The count is that of theory.md 2.1 over all answers, whatever board they were on: it foresees no
single answer, so it must not be taken board by board, where even the number of questions is an
answer. The laws are sequential, so their means over a board and the product over boards are, too.
Events are what is no answer: a revision at number s has the share 1/(100 s^2), and the shares of
all sets of revisions add up to the product of 1 + 1/(100 s^2) over s, less than 50/49.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from scoring.guarantees.conditions import require_positive, require_probability
from scoring.laws.exact import MILLION, basel_up, binomial_up, ln_up, micro, mix
from scoring.laws.laws import Law, LawState, Question

COIN: Final = ln_up(2)  # the length of a bit by a coin's law
_REVISIONS: Final = 100
_UNREVISED: Final = micro(Fraction(49, 50))

Laws = Sequence[Law[Any]]


@dataclass(frozen=True)
class Count:
    """The count of theory.md 2.1, of a ledger with all its boards; lengths are in millionths.

    numbered: all that has a number, so that the next question is t = numbered + 1. asked: the
    answers among it that can be read, also those that told nothing. answered: those that said more
    than "no". alphabets: the length of what these said, each of its values alike. events: the
    length of what was no answer: revisions, and answers that were lost.
    """

    numbered: int = 0
    asked: int = 0
    answered: int = 0
    alphabets: int = 0
    events: int = 0

    @property
    def length(self) -> int:
        """Return the length of all answers under the count."""
        return count_length(self.asked, self.answered, self.alphabets)

    def after(self, question: Question | None, level: int | None) -> "Count":
        """Count an answer; the question is None where the answer was certain before it."""
        counted = replace(self, numbered=self.numbered + 1, asked=self.asked + 1)
        if question is None or level is None:
            return counted
        alphabets = self.alphabets + ln_up(question.alphabet)
        return replace(counted, answered=self.answered + 1, alphabets=alphabets)

    def revise(self, gates: int = 0) -> "Count":
        """Count a revision of the solution, which may come because of what the board said.

        gates: how many were answered, which have no number; it may come after each of them.
        """
        number = self.numbered + 1
        moment = ln_up(_REVISIONS, number + gates, number + gates)
        return replace(self, numbered=number, events=self.events + moment)

    def write_off(self, lost: int, alphabet: int) -> "Count":
        """Count answers that nobody can read any more, each of at most `alphabet` values.

        Each was a "no" or one of these, all taken alike.
        """
        length = self.events + lost * ln_up(alphabet + 1)
        return replace(self, numbered=self.numbered + lost, events=length)

    def to_json(self) -> dict[str, int]:
        """Return what `Count(**stored)` reads."""
        return dict(vars(self))


@dataclass(frozen=True)
class BoardBook:
    """The states of a board's laws, in their order."""

    states: tuple[LawState, ...]

    @classmethod
    def start(cls, laws: Laws) -> "BoardBook":
        """Return the book of a board that has not answered yet."""
        return cls((LawState(),) * len(laws))

    @property
    def length(self) -> int | None:
        """Return the length of the board's answers under the mean of its laws."""
        weight = Fraction(1, len(self.states))
        return mix((weight, state.length) for state in self.states)

    def to_json(self) -> list[dict[str, Any]]:
        """Return what `from_json` reads, the same for equal books."""
        return [state.to_json() for state in self.states]

    @classmethod
    def from_json(cls, stored: Sequence[Mapping[str, Any]]) -> "BoardBook":
        """Return the book that was stored."""
        return cls(tuple(map(LawState.from_json, stored)))


@dataclass(frozen=True)
class TeamBook:
    """What a board's laws remember of a team, and what its answers cost by the last of them."""

    memories: tuple[Fraction, ...]
    spent: int = 0

    def merge(self, other: "TeamBook") -> "TeamBook":
        """Return the book after another team became a part of this one: nothing is freed."""
        return replace(self, spent=self.spent + other.spent)

    @classmethod
    def start(cls, laws: Laws) -> "TeamBook":
        """Return the book of a team that has not asked yet."""
        return cls((Fraction(0),) * len(laws))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, the same for equal books."""
        return {"memories": list(map(str, self.memories)), "spent": self.spent}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "TeamBook":
        """Return the book that was stored."""
        return cls(tuple(map(Fraction, stored["memories"])), stored["spent"])


@dataclass(frozen=True)
class Account:
    """What all answers of a ledger have come to: its count, and the books of its boards.

    A board without a book has not answered yet. Duels have a book beside the boards'. `gates` is
    how many gates were answered (`scoring.gates`), which have no number among the questions.
    """

    count: Count = Count()
    boards: Mapping[str, BoardBook] = field(default_factory=dict)
    gates: int = 0

    def length(self, weight: Fraction) -> int:
        """Return -ln Q_t of everything that was answered so far, in millionths.

        Gates are a coin's law beside each part of the mixture. Whatever the boards answer, the bits
        between are a tree, over which a coin's law adds up to 1: so Q_t stays a law of what comes
        before question t.
        """
        return code_length(self.count, self.boards.values(), weight) + self.gates * COIN

    def revise(self) -> "Account":
        """Count a revision of the solution."""
        return replace(self, count=self.count.revise(self.gates))

    def write_off(self, lost: int, alphabet: int, *, gates: bool = False) -> "Account":
        """Count answers that nobody can read any more; with `gates`, each may have been one."""
        count = self.count.write_off(lost, alphabet)
        return replace(self, count=count, gates=self.gates + (lost if gates else 0))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, the same for equal accounts."""
        boards = {board: self.boards[board].to_json() for board in sorted(self.boards)}
        gates = {"gates": self.gates} if self.gates else {}
        return {"count": self.count.to_json(), "boards": boards, **gates}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Account":
        """Return the account that was stored; an empty one is that of a ledger without answers."""
        boards = stored.get("boards", {}).items()
        return cls(
            Count(**stored.get("count", {})),
            {board: BoardBook.from_json(book) for board, book in boards},
            stored.get("gates", 0),
        )


def charge(
    laws: Laws, board: BoardBook, team: TeamBook, question: Question | None, level: int | None
) -> tuple[BoardBook, TeamBook]:
    """Return both books after an answer; nothing changes where it was certain before."""
    if question is None:
        return board, team
    found = [
        law.advance(state, memory, question, level)
        for law, state, memory in zip(laws, board.states, team.memories, strict=True)
    ]
    states, memories = zip(*found, strict=True)
    spent = team.spent + (states[-1].length or 0) - (board.states[-1].length or 0)
    return BoardBook(states), TeamBook(memories, spent)


def count_weight(laws: Iterable[Laws], *, counted: bool) -> Fraction:
    """Return w for a ledger that begins with boards of these laws: as much as one law's, or 0.

    It is fixed then, and stays when boards are added.
    """
    return Fraction(1, 1 + max(map(len, laws))) if counted else Fraction(0)


def code_length(count: Count, boards: Iterable[BoardBook], weight: Fraction) -> int:
    """Return -ln Q_t of everything that was answered so far, in millionths."""
    lengths = [board.length for board in boards]
    known = [length for length in lengths if length is not None]
    of_laws = sum(known) if len(known) == len(lengths) else None
    counted = count.length if weight else None
    answers = mix(((weight, counted), (1 - weight, of_laws)))
    if answers is None:
        raise ValueError("the laws of a ledger rule out what was answered")
    return _UNREVISED + count.events + answers


def budget(beta: Fraction, index: int, code: int, sides: int = 2) -> int:
    """Return L_t = ln 2 - ln(beta pi_t Q_t) in millionths, from -ln pi_t and -ln Q_t.

    sides: of the bound; ln 1 in the place of ln 2 where it has one.
    """
    require_probability(beta=float(beta))
    return micro(beta / sides) + index + code


def law_width(length: int, rows: float) -> float:
    """Return w = sqrt(L / (2 n)), Hoeffding's width for L in millionths."""
    require_positive(rows=rows)
    return math.sqrt(length / MILLION / (2 * rows))


def count_length(asked: int, answered: int, alphabets: int) -> int:
    """Return -ln of 6 / (pi^2 (f + 1)^2) / (C(i, f) G_1 ... G_f) after i answers, f of a level."""
    return basel_up(answered + 1) + binomial_up(asked, answered) + alphabets


def is_over(team: TeamBook, cap: int | None) -> bool:
    """Return whether a team's answers have cost more than so many nats by the board's last law.

    It follows from earlier answers alone. With J teams, that law's code for the board is at most J
    times the cap and one answer (theory.md 10.4).
    """
    return cap is not None and team.spent > cap * MILLION
