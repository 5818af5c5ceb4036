"""One question on a ledger: whether it may be asked, what its width rests on, what it costs.

The server, both verifiers and every rehearsal ask through `ask`, so that what is promised, checked
and planned is one rule. A ledger of version "" is charged by the count of theory.md 2.1, as all
were before there were laws; any other by the mixture of 10.1 and 10.2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Self

from scoring.laws import VERSION
from scoring.laws.books import (
    COIN,
    Account,
    BoardBook,
    Laws,
    TeamBook,
    budget,
    charge,
    count_weight,
    is_over,
)
from scoring.laws.exact import ln_up
from scoring.laws.index import declared, open_ended
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import Answer, HoldoutState, Mechanism, State, TeamState
from scoring.mechanisms.books import exhausted_answer, show_level
from scoring.mechanisms.kinds import LIMIT
from scoring.noise import Noise, SteadyNoise

GATES_SHARE: Final = Fraction(1, 2)  # of beta, on a ledger that declares gates


@dataclass(frozen=True)
class Terms:
    """What a ledger begins with, published and hashed, for good.

    version: of its laws. weight: the part that the count has in their mixture. question_limit: how
    many questions are certified, None for no end. nats_limit: what the answers of one board to one
    team may cost. by_team: each of the `team_limit` teams has an account of its own, with an equal
    part of beta and of the questions; that holds only if no team learns anything of another's
    answers (theory.md 10.5). gate_limit: how many gates it answers, for which half of beta is kept
    (`scoring.gates`); None for none.
    """

    version: str = ""
    weight: Fraction = Fraction(0)
    question_limit: int | None = None
    team_limit: int | None = None
    nats_limit: int | None = None
    by_team: bool = False
    gate_limit: int | None = None

    @property
    def parts(self) -> int:
        """Return how many accounts share beta."""
        return self.team_limit or 1 if self.by_team else 1

    @property
    def account_limit(self) -> int | None:
        """Return how many questions an account certifies, None for no end."""
        return None if self.question_limit is None else -(-self.question_limit // self.parts)

    def next_length(self, account: Account, beta: Fraction, ahead: int = 1) -> int:
        """Return L in millionths of a nat for the question that comes next, or `ahead` of it."""
        return self.length_at(account.count.numbered + ahead, account.length(self.weight), beta)

    def length_at(self, number: int, code: int, beta: Fraction, *, sides: int = 2) -> int:
        """Return L for question `number` of an account after answers of this code length.

        sides: how many sides the bound that rests on it has; a duel's has one.
        """
        limit = self.account_limit
        index = open_ended(number) if limit is None else declared(number, limit)
        part = beta / self.parts if self.gate_limit is None else beta * (1 - GATES_SHARE)
        return budget(part, index, code, sides)

    def gate_budget(self, beta: Fraction) -> int:
        """Return what every gate rests on, in millionths, before the code of other answers."""
        return budget(beta * GATES_SHARE, (self.gate_limit or 0) * COIN, 0, sides=1)

    def cost(self, before: Account, after: Account) -> int | None:
        """Return by how much the code of an account grew, in millionths; None without laws."""
        if not self.version:
            return None
        return 0 if after == before else after.length(self.weight) - before.length(self.weight)

    def is_full(self, account: Account) -> bool:
        """Return whether the account has answered all that was declared."""
        return self.account_limit is not None and account.count.numbered >= self.account_limit

    def to_json(self) -> dict[str, Any]:
        """Return the facts as they are published."""
        return {
            "law": self.version,
            "weight": str(self.weight),
            "question_limit": self.question_limit,
            "team_limit": self.team_limit,
            "nats_limit": self.nats_limit,
            "by_team": self.by_team,
        } | ({} if self.gate_limit is None else {"gate_limit": self.gate_limit})

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Return the terms of published facts. Raises ValueError for impossible ones."""
        if facts.keys() - {"gate_limit"} != cls().to_json().keys() or facts["law"] != VERSION:
            raise ValueError(f"a ledger's laws are those of {VERSION}")
        limits = {name: facts[name] for name in ("question_limit", "team_limit", "nats_limit")}
        limits["gate_limit"] = facts.get("gate_limit")
        if any(
            each is not None and (type(each) is not int or each < 1) for each in limits.values()
        ):
            raise ValueError("a limit is a positive count or absent")
        weight = Fraction(str(facts["weight"]))
        if not 0 <= weight < 1 or type(facts["by_team"]) is not bool:
            raise ValueError("a weight is a part of 1, and by_team is true or false")
        if facts["by_team"] and limits["team_limit"] is None:
            raise ValueError("a limit of teams says into how many parts beta is shared out")
        if facts["by_team"] and limits["gate_limit"] is not None:
            raise ValueError("gates are counted for all teams together")
        return cls(version=VERSION, weight=weight, by_team=facts["by_team"], **limits)


def begin(boards: Iterable[tuple[Mechanism[Any], Laws]], **limits: Any) -> Terms:
    """Return the terms of a ledger that begins with these boards.

    The count takes part where some mechanism wants it, as much as one of the laws.
    """
    boards = list(boards)
    counted = all(mechanism.counted for mechanism, _ in boards)
    weight = count_weight((laws for _, laws in boards), counted=counted)
    return Terms(version=VERSION, weight=weight, **limits)


@dataclass(frozen=True)
class Board:
    """Who answers: a board by its id, its mechanism and parameters, and the rows that its laws use.

    `public_rows` is 0 where there are none, or where teams claim their scores.
    """

    uid: str
    mechanism: Mechanism[Any]
    params: Any
    private_rows: int
    public_rows: int

    @property
    def laws(self) -> Laws:
        """Return the laws that foresee the board's answers."""
        return self.mechanism.laws(self.params, self.private_rows, self.public_rows)

    def may_lead(self, kind: str) -> bool:
        """Return whether a file with an answer of this kind may lead, for duels."""
        compares = self.mechanism.duels and self.public_rows > 0
        return compares and self.mechanism.kind(kind).shows == "own"


@dataclass(frozen=True)
class Standing:
    """What is known before a question, or after it: states, the account, and the team's book.

    `book` is None of a team that has not asked this board.
    """

    state: State
    account: Account
    book: TeamBook | None = None


def ask(
    terms: Terms,
    board: Board,
    before: Standing,
    measurement: Measurement,
    noise: Noise,
    *,
    again: bool = False,
    may_begin: bool = True,
    is_baseline: bool = False,
) -> tuple[Standing, Answer, int | None]:
    """Answer one question; return what is known after it, the answer, and the length L of it.

    The length is None where the answer says nothing, and costs nothing: the team or the board had
    answered all that it may. Both follow from published facts alone.
    again: the file was answered before the solution was revised; it may be answered beyond the
        limit, from the share of beta that is kept for that.
    may_begin: whether the team has an account, or a part of beta is left for one.
    is_baseline: the team takes nothing from the budget of the others.
    """
    mechanism, params, state = board.mechanism, board.params, before.state
    if not terms.version:
        state, answer = mechanism.step(params, state, measurement, noise)
        return replace(before, state=state), answer, None
    book = before.book or TeamBook.start(board.laws)
    if (terms.is_full(before.account) or not may_begin) and not again:
        state, answer = exhausted_answer(state, measurement, params.steps, kind=LIMIT)
        return replace(before, state=state), answer, None
    if is_over(book, terms.nats_limit) and not is_baseline:
        state, answer = exhausted_answer(state, measurement, params.steps)
        return replace(before, state=state), answer, None
    length = terms.next_length(before.account, mechanism.ledger_beta(params))
    lent = _lend(state, length, is_baseline=is_baseline)
    question = mechanism.law_question(params, lent, board.private_rows, measurement.reference)
    stepped, answer = mechanism.step(params, lent, measurement, noise)
    state = _take_back(state, stepped, is_baseline=is_baseline)
    if mechanism.kind(answer.kind).bounds == "nothing":
        return replace(before, state=state), answer, None
    level = mechanism.law_answer(answer.kind, answer.level)
    books = before.account.boards.get(board.uid) or BoardBook.start(board.laws)
    books, book = charge(board.laws, books, book, question, level)
    count = before.account.count.after(question, level)
    boards = {**before.account.boards, board.uid: books}
    account = replace(before.account, count=count, boards=boards)
    return Standing(state, account, book), answer, length


def recall(state: State, board: Board, kind: str, level: int | None) -> State:
    """Return the state after a stored answer is given again, on a later round's board.

    It shows the team what it knows; a board that starts from there asks no more of it.
    """
    if board.mechanism.kind(kind).shows != "own" or level is None:
        return state
    best = state.team.best
    return replace(state, team=show_level(state.team, level)) if best is None else state


def foresee(
    board: Board, head: HoldoutState, length: int | None, level: int, *, is_mean: bool
) -> Answer:
    """Return what the next answer would be to a file that has this loss on all rows.

    Of a team that has not asked yet; it follows from published facts. length: L of that question.
    """
    steps = board.params.steps
    private, public = board.private_rows, board.public_rows or board.private_rows
    means = [Mean(level * rows, rows, steps, is_mean) for rows in (private, public)]
    lent = _lend(State(head, TeamState()), length, is_baseline=True)
    return board.mechanism.step(board.params, lent, Measurement(*means), SteadyNoise())[1]


def dearest_answer(board: Board, numbered: int) -> int:
    """Return the most that an answer costs by a law that learns, in millionths of a nat.

    That it comes costs at most ln(2 n) of Krichevsky and Trofimov's bit after n questions, and its
    value at most ln 16 more than if all were alike (theory.md 10.1).
    """
    return ln_up(2 * max(1, numbered), 16, board.params.alphabet)


def exact_loss(board: Board, reference: Mean | None) -> str:
    """Return the exact loss on the Public rows, as entries show it: units/whole, or nothing."""
    if reference is None or not board.public_rows:
        return ""
    return f"{reference.units}/{reference.whole}"


def _lend(state: State, length: int | None, *, is_baseline: bool) -> State:
    """Tell the ledger's head its length, and a baseline that it has an answer of its own left."""
    team = replace(state.team, share_left=1) if _has_budget(state) and is_baseline else state.team
    return State(replace(state.holdout, length=length), team)


def _take_back(before: State, after: State, *, is_baseline: bool) -> State:
    team = replace(after.team, share_left=before.team.share_left) if is_baseline else after.team
    return State(replace(after.holdout, length=None), team)


def _has_budget(state: State) -> bool:
    return state.holdout.budget_left is not None
