"""A competition rehearsed by the real steps: normal teams, and a team that only fits the board.

Normal teams improve from a loss of 0.4 to about 0.2, with setbacks; what their files get wrong is
much the same from file to file. The attacker knows nothing of the labels, which are fair coins: it
guesses, keeps or turns round each guess by what the board says of it, and hands in the majority
(boosting, Blum and Hardt 2015; theory.md 6.2). Where the board has public rows it knows their
labels, and where it takes claims it claims to be perfect, so that every guess asks the private
rows. The noise is exact but seeded: for planning, never for a competition.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.guarantees.planner import Proposal
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import MECHANISMS
from scoring.mechanisms.base import Answer, Mechanism, State, TeamState
from scoring.mechanisms.needs import Need
from scoring.noise import Noise, SeededNoise

MOST_QUESTIONS: Final = 6000  # a second or so of steps
MOST_CELLS: Final = 200_000_000  # rows times guesses of the attacker
TRUTH: Final = 0.5  # what a guess is worth

START, BEST, SPREAD, SETBACK = 0.4, 0.2, 0.05, 0.01
SHARED: Final = 0.9  # correlation of the sampling errors of one team's files


@dataclass(frozen=True)
class Normal:
    """What a normal competition does to the board.

    `answers` said more than "no", of `questions`; `exhausted` teams had no share left at the end.
    `off` is the mean distance, as a loss, between what a team's best shows and its true loss.
    The rehearsal had `teams` teams, as many as fit into a second, and is scaled up from them; `off`
    is None where no score is shown.
    """

    teams: int
    questions: int
    answers: int
    exhausted: int
    off: float | None


@dataclass(frozen=True)
class Attack:
    """What boosting gains: `shown` is the best loss on the board, None if it showed none, `fitted`
    the private loss of the majority in the end. The truth is 0.5 throughout, and what is missing to
    it was gained by the board's answers, or by chance."""

    guesses: int
    answers: int
    shown: float | None
    fitted: float


class _Board(Protocol):
    """What an attacker sees of a board: the loss in an answer, if it tells anything of the private
    rows, and the best loss so far."""

    def ask(self, loss: Mean) -> float | None: ...

    @property
    def best(self) -> float | None: ...


def normal(need: Need, proposal: Proposal, seed: int) -> Normal:
    """Rehearse the proposal with normal teams, in turns."""
    mechanism = MECHANISMS[proposal.mechanism]
    params = mechanism.parse(proposal.parameters)
    submissions = min(need.submissions, MOST_QUESTIONS)
    teams = min(need.teams, max(1, MOST_QUESTIONS // submissions))
    generator = np.random.default_rng(seed)
    season = Season(need, generator, teams, submissions)
    states, answers = _play(mechanism, params, season, SeededNoise(generator))
    loud = sum(mechanism.kind(answer.kind).says_more for answer in answers)
    distances = [
        abs(state.best / params.steps - float(season.truth[team].min()))
        for team, state in enumerate(states)
        if state.best is not None
    ]
    return Normal(
        teams=teams,
        questions=need.questions,
        answers=round(loud * need.questions / (teams * submissions)),
        exhausted=round(sum(state.share_left == 0 for state in states) * need.teams / teams),
        off=float(np.mean(distances)) if distances and mechanism.shows_scores else None,
    )


def attack(need: Need, proposal: Proposal, seed: int) -> Attack:
    """Rehearse the proposal with one team that boosts its guesses."""
    generator = np.random.default_rng(seed)
    return _boost(need, _Released(need, proposal, SeededNoise(generator)), generator)


def attack_on_plain_board(need: Need, seed: int) -> Attack:
    """Rehearse the same attack on a board that shows every score as it is."""
    return _boost(need, _Plain(), np.random.default_rng(seed))


class Season:
    """The true, private and public losses of all files of normal teams, by team and file."""

    def __init__(
        self, need: Need, generator: np.random.Generator, teams: int, submissions: int
    ) -> None:
        self.need, self.teams, self.submissions = need, teams, submissions
        progress = np.linspace(0, 1, submissions)[None, :] ** 0.5
        best = BEST + SPREAD * generator.random((teams, 1))
        setbacks = SETBACK * generator.standard_normal((teams, submissions))
        self.truth = np.clip(START + (best - START) * progress + setbacks, 0.01, 0.99)
        self.private = self._sampled(generator, need.rows)
        self.public = self._sampled(generator, need.public) if need.public else self.truth

    def measured(self, team: int, submission: int) -> Measurement:
        additive = self.need.metric == "mean"
        public = self.need.public or self.need.rows
        return Measurement(
            _mean(float(self.private[team, submission]), self.need.rows, additive),
            _mean(float(self.public[team, submission]), public, additive),
        )

    def _sampled(self, generator: np.random.Generator, rows: int) -> NDArray[np.float64]:
        shared = generator.standard_normal((self.teams, 1))
        fresh = generator.standard_normal((self.teams, self.submissions))
        errors = math.sqrt(SHARED) * shared + math.sqrt(1 - SHARED) * fresh
        sampled: NDArray[np.float64] = self.truth + errors * np.sqrt(
            self.truth * (1 - self.truth) / rows
        )
        return np.clip(sampled, 0, 1)


def _mean(loss: float, rows: int, additive: bool = True) -> Mean:
    return Mean(round(loss * rows), rows, 1, additive)


def _play(
    mechanism: Mechanism[Any], params: Any, season: Season, noise: Noise
) -> tuple[list[TeamState], list[Answer]]:
    holdout = mechanism.initial_holdout(params)
    teams = [TeamState()] * season.teams
    answers = []
    for submission in range(season.submissions):
        for turn in range(season.teams):
            measurement = season.measured(turn, submission)
            after, answer = mechanism.step(params, State(holdout, teams[turn]), measurement, noise)
            holdout, teams[turn] = after.holdout, after.team
            answers.append(answer)
    return teams, answers


class _Released:
    """A board behind a mechanism, asked by one team."""

    def __init__(self, need: Need, proposal: Proposal, noise: Noise) -> None:
        self._mechanism = MECHANISMS[proposal.mechanism]
        self._params = self._mechanism.parse(proposal.parameters)
        self._state = State(self._mechanism.initial_holdout(self._params), TeamState())
        self._noise = noise
        self._steps: int = self._params.steps
        public = need.public or need.rows
        self._reference = Mean(0, public, 1, need.metric == "mean")

    @property
    def best(self) -> float | None:
        best = self._state.team.best
        return None if best is None else best / self._steps

    def ask(self, loss: Mean) -> float | None:
        measurement = Measurement(loss, self._reference)
        self._state, answer = self._mechanism.step(
            self._params, self._state, measurement, self._noise
        )
        says_more = self._mechanism.kind(answer.kind).says_more
        return float(answer.loss) if says_more and answer.loss is not None else None


class _Plain:
    """A board that shows every loss."""

    def __init__(self) -> None:
        self._shown: list[float] = []

    @property
    def best(self) -> float | None:
        return min(self._shown, default=None)

    def ask(self, loss: Mean) -> float | None:
        self._shown.append(loss.units / loss.whole)
        return self._shown[-1]


def _boost(need: Need, board: _Board, generator: np.random.Generator) -> Attack:
    rows, additive = need.rows, need.metric == "mean"
    guesses = max(1, min(need.submissions, MOST_CELLS // rows) - 1)
    labels = _coins(generator, rows)
    votes = np.zeros(rows, dtype=np.int32)
    answers = 0
    for guess in _guesses(generator, rows, guesses):
        shown = board.ask(Mean(int(np.count_nonzero(guess != labels)), rows, 1, additive))
        if shown is not None:
            answers += 1
            votes += np.where(guess == (shown <= TRUTH), 1, -1)
    majority = np.where(votes == 0, _coins(generator, rows), votes > 0)
    fitted = int(np.count_nonzero(majority != labels))
    board.ask(Mean(fitted, rows, 1, additive))
    return Attack(guesses + 1, answers, board.best, fitted / rows)


def _guesses(
    generator: np.random.Generator, rows: int, guesses: int
) -> Iterator[NDArray[np.bool_]]:
    for _ in range(guesses):
        yield _coins(generator, rows)


def _coins(generator: np.random.Generator, rows: int) -> NDArray[np.bool_]:
    return generator.integers(0, 2, rows, dtype=np.uint8).astype(bool)
