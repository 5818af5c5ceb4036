"""The guarantee of a board: one figure, what it rests on, and what it will come to."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from django.utils import timezone

from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import ledger_head, terms_of
from leaderboard.ledger.heads import rules_of
from leaderboard.models import Board, Holdout, Ledger, Standing, Team
from leaderboard.queries.certificates import round_up
from leaderboard.queries.scales import Interval, scale
from scoring import ledger as rules
from scoring import metrics
from scoring.guarantees.certificate import certify
from scoring.guarantees.groups import design_of
from scoring.laws.books import Account
from scoring.predictions import Usage

USUAL_LOSS = Fraction(1, 4)  # of a board's leader, where nobody has a score yet


@dataclass(frozen=True)
class Guarantee:
    """How far a score like the leader's can be off, in units of the score, surely but for beta.

    now: half the width of its interval if the next answer showed it, None where nothing can be
        promised; `interval` are its ends. at_end: the same at the last question, if the board goes
        on as it did; None where that is nothing, or where there is no end.
    answered: questions that were answered, of the `limit` that was declared; None for no limit.
    by_team: they are those of one team, and teams must not share what they are told.
    """

    now: float | None
    interval: Interval | None
    at_end: float | None
    confidence: float
    answered: int
    limit: int | None
    by_team: bool

    @property
    def used(self) -> float | None:
        """Return the part of the limit that is used, from 0 to 1."""
        return None if self.limit is None else min(1.0, self.answered / self.limit)

    @property
    def is_full(self) -> bool:
        """Return whether nothing is answered any more."""
        return self.used == 1

    @property
    def text(self) -> str:
        """Return the figure with two digits, rounded up; empty without one."""
        return "" if self.now is None else round_up(self.now)

    @property
    def text_at_end(self) -> str:
        """Return the figure at the end, likewise."""
        return "" if self.at_end is None else round_up(self.at_end)


def guarantee(board: Board, team: Team | None = None) -> Guarantee | None:
    """Return the guarantee of a board as it is now; None before the opening and for set functions.

    team: whose account counts, where each team has its own.
    """
    ledger, holdout = board.round.ledger, board.round.active_holdout
    state = getattr(board, "state", None)
    if ledger is None or holdout is None or state is None or not metrics.get(board.metric).is_mean:
        return None
    return _Reckoning(board, ledger, holdout, read_account(ledger, team)).find(team)


class _Reckoning:
    """What a board's next answer, or a later one, would promise."""

    def __init__(self, board: Board, ledger: Ledger, holdout: Holdout, account: Account) -> None:
        self._board, self._ledger, self._holdout = board, ledger, holdout
        self._account, self._terms = account, terms_of(ledger)
        self._rules, self._reads = rules_of(board, holdout), scale(board)
        self._beta = self._rules.mechanism.ledger_beta(self._rules.params)

    def find(self, team: Team | None) -> Guarantee:
        level = self._level(team)
        answered = self._account.count.numbered if self._ledger.law else self._ledger.asked
        now = self._interval(level, answered + 1)
        last = self._last_question(answered)
        at_end = self._interval(level, last) if last else None
        return Guarantee(
            now=_half(now),
            interval=now,
            at_end=_half(at_end),
            confidence=float(self._rules.params.confidence),
            answered=answered,
            limit=self._terms.account_limit,
            by_team=self._ledger.by_team,
        )

    def _level(self, team: Team | None) -> int:
        """Return the level that leads, of one team where no other may be seen."""
        standings = Standing.objects.filter(board=self._board, loss__isnull=False)
        if self._ledger.by_team:
            standings = standings.filter(team=team)
        best = standings.order_by("loss").values_list("loss", flat=True).first()
        steps: int = self._rules.params.steps
        return round((USUAL_LOSS if best is None else best) * steps)

    def _interval(self, level: int, question: int) -> Interval | None:
        length = None
        if self._ledger.law:
            code = self._account.length(self._terms.weight)
            answered = self._account.count.numbered
            # What has been told grows with the questions, as it did so far.
            code = code * max(question - 1, 1) // max(answered, 1) if answered else code
            length = self._terms.length_at(question, code, self._beta)
        head = ledger_head(self._ledger, self._board.state)
        answer = rules.foresee(self._rules, head, length, level, is_mean=True)
        metric, rows = metrics.get(self._board.metric), self._holdout.effective_private_rows
        rounding = metric.rounding(weighted=rows < self._holdout.private_rows)
        design = design_of(self._holdout.designs, Usage.PRIVATE, rows)
        found = certify(answer, rows, design=design, rounding=rounding, length=length)
        return None if found is None else self._reads.interval(found.low, found.high)

    def _last_question(self, answered: int) -> int | None:
        """Return the number of the last question at this pace, None without an end or a law."""
        limit, closes_at = self._terms.account_limit, self._board.round.closes_at
        if not self._ledger.law or (limit is None and closes_at is None):
            return None
        expected = limit or answered
        if closes_at is not None and answered:
            expected = int(answered * _stretch(self._board.round.opens_at, closes_at))
        return max(answered + 1, expected if limit is None else min(expected, limit))


def _stretch(opens_at: datetime, closes_at: datetime) -> float:
    """Return how many times as long as until now the round lasts, at least 1."""
    gone = (timezone.now() - opens_at).total_seconds()
    return max(1.0, (closes_at - opens_at).total_seconds() / max(gone, 1.0))


def _half(interval: Interval | None) -> float | None:
    return None if interval is None else (interval.high - interval.low) / 2
