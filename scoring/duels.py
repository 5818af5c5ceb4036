"""Duels: is the file that leads a board surely better than the one that led before it?

Theory.md 10.9. A duel is a question of its own on the ledger: it has a number, rests on a length L,
and its answer, one bit, is charged. It is asked by a published rule (`Leads.due`), which reads
released values alone, so that whoever has the ledger knows which duels there must be, and in which
order.

The answer is yes if and only if p <= exp(-L) = beta pi_t Q_t(h), p that of theory.md 10.6 for "the
file is not better on the Private rows". It is one-sided: no ln 2. A yes holds jointly with all else
that the ledger promises; a no says nothing.

The form of the test is fixed by the kind of loss (`form_of`), rows that differ are those whose
predictions do. Neither p, nor how many rows differ, nor how many of them are right, ever leaves:
only the bit is charged.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from scoring.guarantees.rank_sets import Form, Rows, compare_pairs
from scoring.laws.books import Account, BoardBook, TeamBook, charge
from scoring.laws.exact import micro
from scoring.laws.laws import Expected, Law, z_bucket
from scoring.ledger import Terms
from scoring.measurement import Secret
from scoring.metrics.base import Metric, Parameters
from scoring.predictions import Predictions, Schema, Solution, Usage
from scoring.predictions.codes import row_codes

BOOK: Final = "duels"  # in an account; no board has this id


@dataclass(frozen=True)
class Lead:
    """An answer by which a file took the lead of a board, or went further ahead.

    number: of its entry. team: whose file it is, as teams are merged by now. tag: stands for the
    predictions. public_loss: the exact loss on the Public rows, units/whole.
    """

    number: int
    board: str
    level: int
    team: str
    tag: str
    public_loss: str


@dataclass(frozen=True)
class Duel:
    """Two files by the entries that put them in the lead: is `better` better than `worse`?"""

    better: Lead
    worse: Lead

    @property
    def key(self) -> tuple[str, str]:
        """Return what is asked once: this order of these predictions."""
        return self.better.tag, self.worse.tag

    def context(self, public_rows: int, private_rows: int) -> int:
        """Return how far apart they are on the Public rows, in half standard errors."""
        loss = Fraction(self.worse.public_loss)
        gap = loss - Fraction(self.better.public_loss)
        return z_bucket(gap, loss, public_rows, private_rows)


class Leads:
    """The files that led the boards of a ledger, on one revision of the solution."""

    def __init__(self) -> None:
        self._led: dict[str, list[Lead]] = {}

    def note(self, lead: Lead) -> None:
        """Keep an answer if it is below all earlier ones of its board; in the ledger's order."""
        led = self._led.setdefault(lead.board, [])
        if not led or lead.level < led[-1].level:
            led.append(lead)

    def merge(self, team: str, into: str) -> None:
        """Give a team's files to another one."""
        for led in self._led.values():
            led[:] = [replace(each, team=into) if each.team == team else each for each in led]

    def due(self, asked: Collection[tuple[str, str]]) -> Duel | None:
        """Return the duel that the rule asks for next, the oldest that is not among `asked`.

        Whenever a file leads a board, it is compared with the last one of another team that led it.
        """
        duels = (duel for led in self._led.values() for duel in _duels(led))
        waiting = (duel for duel in duels if duel.key not in asked)
        return min(waiting, key=lambda duel: duel.better.number, default=None)


@dataclass(frozen=True, repr=False)
class Comparison(Secret):
    """The p-value for "the first file is not better": for one duel, never shown or stored."""

    p: float


@dataclass(frozen=True)
class Verdict:
    """The question of a duel as its law knows it: where it stands on the Public rows."""

    context: int
    alphabet: int = 1


class Verdicts(Law[Verdict]):
    """The law of duels: a yes is as likely as it was where the Public rows said as much.

    Krichevsky and Trofimov's in each context. It is sequential: it reads earlier duels and the
    exact scores on Public rows, which no private label has a part in.

    Its book is one more factor beside the boards' (`scoring.laws.books`), and duels are counted by
    the count as well: a no is a "no", a yes an answer of one value. So each part of the mixture
    gives probabilities to all that has a number, duels among them, and Q stays a law. With duels in
    the books alone the count would not be one: which numbers are duels follows from answers.
    """

    name = "duel"

    def expect(self, memory: Fraction, question: Verdict) -> Expected:
        return Expected(question.context)


_LAWS: Final = (Verdicts(),)


def are_asked(terms: Terms, account: Account) -> bool:
    """Return whether a ledger asks duels: it has laws, counts all teams together, and is not full.

    On one that counts by team no bit may tell a team of another's file.
    """
    return bool(terms.version) and not terms.by_team and not terms.is_full(account)


def form_of(metric: Metric, schema: Schema, *, is_plain: bool) -> Form:
    """Return which test compares two files; is_plain: rows count alike, and are in no groups."""
    return "binomial" if is_plain and metric.is_wrong_class(schema) else "betting"


def compare(
    metric: Metric,
    params: Parameters,
    solution: Solution,
    better: Predictions,
    worse: Predictions,
) -> Comparison:
    """Compare two files on the Private rows. Raise StateError where they are of other rows."""
    private = solution.usage == Usage.PRIVATE
    is_plain = solution.effective_rows(Usage.PRIVATE) == np.count_nonzero(private)
    form = form_of(metric, solution.schema, is_plain=is_plain)
    groups = None if is_plain else solution.groups
    rows = Rows(
        two_classes=form == "binomial",
        weights=None if is_plain or solution.weights is None else solution.weights[private],
        groups=None if groups is None else np.unique(groups[private], return_inverse=True)[1],
    )
    files = better, worse
    losses = np.stack([metric.count_rows(each, solution, private, params) for each in files])
    codes = np.stack([row_codes(each, private) for each in files])
    pairs = compare_pairs(losses, codes, rows, units=metric.units)
    return Comparison(float(pairs.p[0]) if pairs.better[0] == 0 else 1.0)


def duel_length(terms: Terms, account: Account, beta: Fraction) -> int:
    """Return L of a duel that comes next, in millionths of a nat: -ln(beta pi_t Q_t(h))."""
    code = account.length(terms.weight)
    return terms.length_at(account.count.numbered + 1, code, beta, sides=1)


def is_surely_better(comparison: Comparison, length: int) -> bool:
    """Return whether p <= exp(-L), exactly: -ln p is no whole number of millionths."""
    return micro(Fraction(comparison.p)) > length


def charge_duel(account: Account, context: int, *, better: bool) -> Account:
    """Return the account after a duel's answer."""
    question, level = Verdict(context), 0 if better else None
    book = account.boards.get(BOOK) or BoardBook.start(_LAWS)
    book, _ = charge(_LAWS, book, TeamBook.start(_LAWS), question, level)
    count = account.count.after(question, level)
    return replace(account, count=count, boards={**account.boards, BOOK: book})


def _duels(led: Sequence[Lead]) -> Iterator[Duel]:
    for place, better in enumerate(led):
        others = (each for each in reversed(led[:place]) if each.team != better.team)
        if (worse := next(others, None)) is not None:
            yield Duel(better, worse)
