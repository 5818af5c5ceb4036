"""The guarantee of a board: one figure, what it rests on, and what it will come to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Final

from django.db.models import Count, QuerySet
from django.utils import timezone

from leaderboard.ledger.accounts import read_account
from leaderboard.ledger.entries import ledger_head, terms_of
from leaderboard.ledger.heads import rules_of
from leaderboard.models import Board, BoardState, Holdout, Standing, Submission, Team
from leaderboard.queries.certificates import round_up
from leaderboard.queries.scales import Interval, scale
from scoring import ledger as rules
from scoring import metrics
from scoring.guarantees.certificate import certify
from scoring.guarantees.groups import design_of
from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.laws.books import Account
from scoring.mechanisms import answer_kind
from scoring.mechanisms.base import Answer
from scoring.mechanisms.base import HoldoutState as LedgerHead
from scoring.predictions import Usage

_USUAL_LOSS: Final = Fraction(1, 4)  # of a board's leader, where nobody has a score yet
_PACE_FROM: Final = 10  # questions; after fewer nobody knows the pace


@dataclass(frozen=True)
class Guarantee:
    """How sure the leading score is with the board's `confidence`, in units of the score.

    score: the leading one as it is shown, or, where nobody `leads` yet, one that might.
    interval: what is certain of it by the question that comes next, which is no less than by the
        one that it answered; None where nothing is. fits: whether it was when nothing had been
        answered; where it was not, the rows are too few.
    answered: questions that were answered, of the `limit` that was declared; None for no limit.
    expected: how many there will be at the end, if the board goes on as it did; None where it has
        no end, or is over, or nobody knows yet. at_end: half the width of the interval then.
    by_team: all this is of one team, and teams must not share what they are told.
    has_final_rows: whether the finals use rows that have answered nothing.
    """

    score: str
    leads: bool
    interval: Interval | None
    fits: bool
    confidence: float
    answered: int
    limit: int | None
    expected: int | None
    at_end: float | None
    by_team: bool
    has_final_rows: bool

    @property
    def now(self) -> float | None:
        """Return half the width of the interval."""
        return _half(self.interval)

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
        """Return the figure; empty without one."""
        return figure(self.now)

    @property
    def text_at_end(self) -> str:
        """Return the figure at the end, likewise."""
        return figure(self.at_end)


def figure(half: float | None) -> str:
    """Return half the width of an interval with two digits, rounded up: "±0.16"."""
    return "" if half is None else f"±{round_up(half)}"


def guarantee(
    board: Board, team: Team | None = None, *, usual: float | None = None
) -> Guarantee | None:
    """Return the guarantee of a board as it is now.

    None before the opening, for set functions, and where no scores are shown. team: whose account
    counts, where each team has its own. usual: the loss that is taken where nobody leads yet.
    """
    reckoning = _reckon(board, team, usual)
    return None if reckoning is None else reckoning.find()


def guarantee_after(board: Board, again: QuerySet[Submission]) -> float | None:
    """Return half the width of the interval after a revision, with these files scored again.

    They tell as much as those before them did. Where each team has an account of its own, it is
    that of the team with the most of them. None where nothing is guaranteed then.
    """
    files, team = again.count(), None
    if board.round.ledger and board.round.ledger.by_team:
        most = again.order_by().values_list("team").annotate(files=Count("pk")).order_by("-files")
        key, files = most.first() or (None, 0)
        team = Team.objects.filter(pk=key).first()
    reckoning = _reckon(board, team)
    return None if reckoning is None else reckoning.half_after_revision(files)


def guarantee_if_used(board: Board, answers: int) -> float | None:
    """Return half the width of the interval once so many more answers were given at their dearest.

    None where nothing is guaranteed then.
    """
    reckoning = _reckon(board, None)
    return None if reckoning is None else reckoning.half_if_used(answers)


def leading_half(board: Board, team: Team | None) -> Callable[[int], float | None]:
    """Return what tells half the width of the leading score's interval by a question of this L.

    It tells None where nothing is guaranteed.
    """
    reckoning = _reckon(board, team)
    return cache(reckoning.half_at if reckoning else lambda _: None)


def _reckon(board: Board, team: Team | None, usual: float | None = None) -> "_Reckoning | None":
    # Both are of one moment when they are read at once.
    state = BoardState.objects.select_related("ledger").filter(board=board).first()
    holdout = board.round.active_holdout
    if state is None or holdout is None or not metrics.get(board.metric).is_mean:
        return None
    reckoning = _Reckoning(board, state, holdout, team, usual)
    return reckoning if reckoning.rules.mechanism.shows_scores else None


class _Reckoning:
    """What a board's next answer, or a later one, would promise."""

    def __init__(
        self,
        board: Board,
        state: BoardState,
        holdout: Holdout,
        team: Team | None,
        usual: float | None,
    ) -> None:
        self._board, self._ledger, self._holdout = board, state.ledger, holdout
        self._account = read_account(self._ledger, team)
        self._head, self._terms = ledger_head(self._ledger, state), terms_of(self._ledger)
        self._reads, self.rules = scale(board), rules_of(board, holdout)
        self._beta = self.rules.mechanism.ledger_beta(self.rules.params)
        best = self._best_loss(team)
        self._leads, steps = best is not None, self.rules.params.steps
        usual = float(_USUAL_LOSS) if usual is None else usual
        self._level = round((usual if best is None else best) * steps)
        self._shown = self._find_shown(self._level)
        if best is None:
            self._level = self._shown

    def find(self) -> Guarantee:
        answered = self._account.count.numbered if self._ledger.law else self._ledger.asked
        limit, expected = self._terms.account_limit, self._expected(answered)
        # A full board's last answer is the one at its limit, or on the part that is kept for
        # revisions; there is no next one.
        is_full = limit is not None and answered >= limit
        now = self._interval(self._account, self._head, ahead=0 if is_full else 1)
        first = now or self._interval(Account(), _unasked(self._head), ahead=1)
        later = None if expected is None else self._after(self._account, expected - answered)
        return Guarantee(
            score=self._reads.text(self._level / self.rules.params.steps),
            leads=self._leads,
            interval=now,
            fits=first is not None,
            confidence=float(self.rules.params.confidence),
            answered=answered,
            limit=limit,
            expected=expected,
            at_end=_half(later),
            by_team=self._ledger.by_team,
            has_final_rows=self._holdout.final_rows > 0,
        )

    def half_after_revision(self, files: int) -> float | None:
        if not self._ledger.law:
            return None
        return _half(self._after(self._account.revise(), files + 1))

    def half_if_used(self, answers: int) -> float | None:
        dearest = rules.dearest_answer(self.rules, self._account.count.numbered + answers)
        told = answers * dearest
        return _half(self._interval(self._account, self._head, ahead=1 + answers, told=told))

    def half_at(self, length: int) -> float | None:
        return _half(self._certain(self._head, length))

    def _best_loss(self, team: Team | None) -> float | None:
        """Return the loss that leads, of one team where no other may be seen."""
        standings = Standing.objects.filter(board=self._board, loss__isnull=False)
        if self._ledger.by_team:
            standings = standings.filter(team=team)
        else:
            standings = standings.filter(is_ranked=True)
        return standings.order_by("loss").values_list("loss", flat=True).first()

    def _find_shown(self, level: int) -> int:
        """Return the worst level from here on that the board shows to a team as its first one."""
        while level and answer_kind(self._foresee(level, self._head, None).kind).shows != "own":
            level -= 1
        return level

    def _foresee(self, level: int, head: LedgerHead, length: int | None) -> Answer:
        return rules.foresee(self.rules, head, length, level, is_mean=True)

    def _after(self, account: Account, questions: int) -> Interval | None:
        """Return the interval by the last of so many more questions."""
        return self._interval(account, self._head, ahead=questions)

    def _interval(
        self, account: Account, head: LedgerHead, ahead: int, told: int | None = None
    ) -> Interval | None:
        """Return the interval of the level, shown by the question that is so many ahead.

        told: how much the questions before it tell, in millionths of a nat; if left out, as much as
        those so far did.
        """
        length, numbered = None, account.count.numbered
        if self._ledger.law:
            code = account.length(self._terms.weight)
            code += code * max(ahead - 1, 0) // max(numbered, 1) if told is None else told
            length = self._terms.length_at(max(numbered + ahead, 1), code, self._beta)
        return self._certain(head, length)

    def _certain(self, head: LedgerHead, length: int | None) -> Interval | None:
        """Return the interval of the level, shown by a question of this length.

        One that reaches over half of all losses from there promises nothing that is worth a word.
        """
        answer = replace(self._foresee(self._shown, head, length), level=self._level)
        metric, rows = metrics.get(self._board.metric), self._holdout.effective_private_rows
        rounding = metric.rounding(weighted=rows < self._holdout.private_rows)
        design = design_of(self._holdout.designs, Usage.PRIVATE, rows)
        found = certify(answer, rows, design=design, rounding=rounding, length=length)
        shown = self._level / self.rules.params.steps
        if found is None or max(shown - found.low, found.high - shown) >= NO_CERTIFICATE:
            return None
        return self._reads.interval(found.low, found.high)

    def _expected(self, answered: int) -> int | None:
        """Return how many questions there will be at this pace, by the limit at most."""
        limit, round, now = self._terms.account_limit, self._board.round, timezone.now()
        is_full = limit is not None and answered >= limit
        if not self._ledger.law or is_full or answered < _PACE_FROM:
            return None
        if round.closes_at is None or round.closes_at <= now:
            return None if round.closes_at else limit
        # The questions of earlier rounds on these rows were asked in the time of those rounds.
        begun = round.origin.opens_at
        stretch = (round.closes_at - begun) / (now - begun)
        expected = max(answered + 1, int(answered * stretch))
        return expected if limit is None else min(expected, limit)


def _unasked(head: LedgerHead) -> LedgerHead:
    return LedgerHead(budget_left=head.budget_left)


def _half(interval: Interval | None) -> float | None:
    return None if interval is None else (interval.high - interval.low) / 2
