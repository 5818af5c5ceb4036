"""A competition rehearsed by the real rule, `scoring.ledger.ask`.

A season of normal teams is means, not rows: each team climbs from a loss of 1.6 times what a good
score has to about .8 of it, as the square root of its files, with setbacks. Sampling errors are
shared: models find the same rows hard (Mania et al. 2019), so that part of an error is all teams',
part the team's, and a tenth the file's own. Labels have no part in it.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.intervals import kl_cell_interval, wilson_interval
from scoring.guarantees.ledger import NO_CERTIFICATE
from scoring.laws.books import Account, TeamBook
from scoring.laws.exact import MILLION
from scoring.ledger import Board, Standing, Terms, ask, foresee
from scoring.measurement import Mean, Measurement
from scoring.mechanisms.base import HoldoutState, State, TeamState
from scoring.noise import Noise

Floats = NDArray[np.float64]

START, BEST, SPREAD, SETBACK = 1.6, 0.8, 0.2, 0.04  # in losses of a good score
CLAIMED: Final = 5
COMMON, OWN, FRESH = 0.6, 0.3, 0.1  # of a sampling error's variance
SAMPLING_BETA: Final = 0.05  # of the whisker that a sampling error is half of


@dataclass(frozen=True, eq=False)
class Season:
    """The losses of all files, teams by files: true ones, on Private rows, and on Public ones.

    public_rows: 0 where teams claim their scores. `public` is then what they found by validation on
    their own rows, CLAIMED times as many as are private.
    """

    truth: Floats
    private: Floats
    public: Floats
    rows: int
    public_rows: int
    additive: bool = True


def draw_season(
    generator: np.random.Generator,
    *,
    teams: int,
    files: int,
    rows: int,
    public_rows: int,
    good: float = 0.25,
    additive: bool = True,
) -> Season:
    """Draw a season of normal teams. good: the loss of a good score."""
    progress = np.linspace(0, 1, files)[None, :] ** 0.5 if files > 1 else np.ones((1, 1))
    best = good * (BEST + SPREAD * generator.random((teams, 1)))
    setbacks = good * SETBACK * generator.standard_normal((teams, files))
    truth = np.clip(good * START + (best - good * START) * progress + setbacks, 0.001, 0.99)

    def sample(count: int) -> Floats:
        errors = (
            math.sqrt(COMMON) * generator.standard_normal()
            + math.sqrt(OWN) * generator.standard_normal((teams, 1))
            + math.sqrt(FRESH) * generator.standard_normal((teams, files))
        )
        drawn: Floats = np.clip(truth + errors * np.sqrt(truth * (1 - truth) / count), 0, 1)
        return drawn

    private, public = sample(rows), sample(public_rows or CLAIMED * rows)
    return Season(truth, private, public, rows, public_rows, additive)


@dataclass(frozen=True, eq=False)
class Played:
    """What a season left on a board.

    lengths: L of the last question of each account that answered, in millionths of a nat.
    account, head: the last account, and the state of the board.
    spent: what each team's answers cost by the board's last law, likewise.
    corrections: answers that took something from a budget. leader: team and file of the best loss
    that was shown as a file's own, and that loss; None if none was.
    """

    lengths: tuple[int, ...]
    account: Account
    head: HoldoutState
    spent: tuple[int, ...]
    corrections: int
    leader: tuple[int, int, float] | None

    def shown_error(self, season: Season) -> float:
        """Return how far the leader's shown loss is off, in sampling errors; infinite without one.

        A sampling error is half of the plain 95 % whisker.
        """
        if self.leader is None:
            return math.inf
        team, file, shown = self.leader
        truth = float(season.truth[team, file])
        return abs(shown - truth) / sampling_error(truth, season.rows)


def play(
    terms: Terms, board: Board, season: Season, noise: Noise, account: Account | None = None
) -> Played:
    """Play a season, a file of each team in turn, after what an account has come to already.

    Where teams claim their scores, one that was corrected shifts its later claims by as much.
    """
    mechanism, params = board.mechanism, board.params
    claims = mechanism.reference(params) == "claim"
    teams, files = season.truth.shape
    accounts = [account or Account()] * (teams if terms.by_team else 1)
    lengths = [0] * len(accounts)
    head = mechanism.initial_holdout(params)
    known: list[tuple[TeamState, TeamBook | None]] = [(TeamState(), None)] * teams
    shifts = [0.0] * teams
    corrections = 0
    leader: tuple[int, int, float] | None = None
    for file, team in np.ndindex(files, teams):
        at = team if terms.by_team else 0
        claim = min(1.0, max(0.0, float(season.public[team, file]) + shifts[team] * claims))
        rows = season.rows if claims else season.public_rows
        measurement = Measurement(
            _mean(float(season.private[team, file]), season.rows, season.additive),
            _mean(claim, rows, season.additive) if rows else None,
        )
        before = Standing(State(head, known[team][0]), accounts[at], known[team][1])
        after, answer, length = ask(terms, board, before, measurement, noise)
        head, accounts[at] = after.state.holdout, after.account
        known[team] = after.state.team, after.book
        lengths[at] = length or lengths[at]
        kind = mechanism.kind(answer.kind)
        if answer.loss is None or kind.shows != "own":
            continue
        shown = float(answer.loss)
        if kind.says_more and mechanism.unit is not None:
            corrections += 1
            shifts[team] += shown - claim
        if leader is None or shown < leader[2]:
            leader = team, file, shown
    return Played(
        lengths=tuple(filter(None, lengths)),
        account=accounts[-1],
        head=head,
        spent=tuple(0 if book is None else book.spent for _, book in known),
        corrections=corrections,
        leader=leader,
    )


def sampling_error(loss: float, rows: float) -> float:
    """Return half of the plain 95 % whisker of a loss."""
    low, high = wilson_interval(loss, rows, SAMPLING_BETA)
    return (high - low) / 2


def half_width(board: Board, head: HoldoutState, loss: float, length: int) -> float | None:
    """Return half of the certified interval of a shown loss, by the KL bound at L; None from .5.

    With the tolerance of the answer: a band, half a step, or noise.
    """
    tolerance = answer_tolerance(board, head, loss)
    low, high = kl_cell_interval(
        board.private_rows, loss - tolerance, loss + tolerance, length / MILLION
    )
    half = (high - low) / 2
    return half if half < NO_CERTIFICATE else None


def answer_tolerance(board: Board, head: HoldoutState, loss: float) -> float:
    """Return the tolerance of the next answer, if it shows this loss."""
    level = round(loss * board.params.steps)
    return foresee(board, replace(head, length=None), None, level, is_mean=True).tolerance


def _mean(loss: float, rows: int, additive: bool) -> Mean:
    return Mean(round(loss * rows), rows, 1, additive)
